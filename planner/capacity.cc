#include "planner/capacity.h"

namespace shardplan {
namespace {

constexpr double kLongestRun = 1e6;  // seconds that a trickle of requests is spread over
constexpr double kMostRate = 1e6;
constexpr double kPrecision = 1.01;

class RateSearch {
 public:
  RateSearch(const PlanRequest& request, const ParallelConfig& config, const PoolConfigs* pools,
             const SimulatedTraffic& traffic, const SimulationSettings& settings, double attainment_ratio)
      : request_(request),
        config_(config),
        pools_(pools),
        traffic_(traffic),
        settings_(settings),
        wanted_(attainment_ratio) {
    request_.workload.concurrency.reset();
    settings_.records = nullptr;
    settings_.timeline = nullptr;
  }

  Capacity run() {
    const std::int64_t requests = traffic_.requests > 0 ? traffic_.requests : SimulatedTraffic::kDefaultRequests;
    double low = static_cast<double>(requests) / kLongestRun;
    if (!holds(low)) return std::move(out_);
    double high = 2 * low;
    for (; high < kMostRate && holds(high); high *= 2) low = high;
    while (high / low > kPrecision) {
      const double middle = (low + high) / 2;
      (holds(middle) ? low : high) = middle;
    }
    out_.requests_per_second = low;
    return std::move(out_);
  }

 private:
  bool holds(double rate) {
    request_.workload.requests_per_second = rate;
    const SimulationResult r = pools_ != nullptr ? simulate_pools(request_, *pools_, traffic_, settings_)
                                                 : simulate_config(request_, config_, traffic_, settings_);
    const double good = static_cast<double>(r.good_requests) / static_cast<double>(r.requests.arrived);
    out_.trials.push_back({.requests_per_second = rate, .attainment_ratio = good});
    return good >= wanted_;
  }

  PlanRequest request_;
  const ParallelConfig& config_;
  const PoolConfigs* pools_;
  const SimulatedTraffic& traffic_;
  SimulationSettings settings_;
  double wanted_;
  Capacity out_;
};

}  // namespace

Capacity find_capacity(const PlanRequest& request, const ParallelConfig& config, const PoolConfigs* pools,
                       const SimulatedTraffic& traffic, const SimulationSettings& settings, double attainment_ratio) {
  return RateSearch(request, config, pools, traffic, settings, attainment_ratio).run();
}

}  // namespace shardplan
