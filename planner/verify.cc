#include "planner/verify.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "planner/objective.h"
#include "planner/simulate.h"
#include "planner/targets.h"

namespace shardplan {
namespace {

constexpr double kLengthVariation = 0.1;
constexpr std::int64_t kFewestRequests = 8000;  // a Poisson count of them is off by a per cent
constexpr std::int64_t kMostRequests = 200'000;
constexpr std::int64_t kWaves = 4;  // requests for each that is in flight

// Output tokens/s while neither the first tenth of the requests nor the last one ends: without the ramps of the run.
class OutputPace : public RecordSink {
 public:
  void add(const RequestRecord& record) override { ends_.emplace_back(record.last_token, record.output_tokens); }
  // 0 where the run is too short to tell.
  [[nodiscard]] double tokens_per_second() {
    std::sort(ends_.begin(), ends_.end());
    const std::size_t from = ends_.size() / 10;
    const std::size_t to = 9 * ends_.size() / 10;
    if (to <= from || ends_[to].first <= ends_[from].first) return 0;
    double tokens = 0;
    for (std::size_t i = from; i < to; ++i) tokens += static_cast<double>(ends_[i + 1].second);
    return tokens / to_seconds(ends_[to].first - ends_[from].first).value();
  }

 private:
  std::vector<std::pair<SimTime, std::int64_t>> ends_;
};

std::int64_t requests_of(double in_flight) {
  return std::clamp(kWaves * static_cast<std::int64_t>(std::ceil(in_flight)), kFewestRequests, kMostRequests);
}

// What the closed form would say if it had seen the run.
ServingEstimate serving_of(const ServingEstimate& closed_form, std::int64_t gpus, const SimulationResult& r,
                           OutputPace& pace) {
  ServingEstimate out = closed_form;
  out.ttft = r.ttft.mean;
  out.tpot = r.tpot.mean;
  out.e2e = r.e2e.mean;
  const double steady = pace.tokens_per_second();
  out.output_tokens_per_second = steady > 0 ? steady : r.output_tokens_per_second;
  out.output_tokens_per_second_per_gpu = out.output_tokens_per_second / static_cast<double>(gpus);
  out.tokens_per_second_per_user = r.tpot.mean.value() > 0 ? 1 / r.tpot.mean.value() : 0;
  return out;
}

SimulatedServing judged(const PlanRequest& request, std::size_t rank, const ServingEstimate& closed_form,
                        std::int64_t gpus, const SimulationResult& r, OutputPace& pace) {
  const ServingEstimate serving = serving_of(closed_form, gpus, r, pace);
  return {.rank_before = static_cast<std::int64_t>(rank + 1),
          .ttft = r.ttft.mean,
          .ttft_p99 = r.ttft.p99,
          .tpot = r.tpot.mean,
          .tpot_p99 = r.tpot.p99,
          .e2e = r.e2e.mean,
          .output_tokens_per_second = serving.output_tokens_per_second,
          .output_tokens_per_second_per_gpu = serving.output_tokens_per_second_per_gpu,
          .preempted = r.requests.preempted,
          .rejected = r.requests.rejected,
          .score = row_of(request.objective).score(request, gpus, serving),
          .meets_targets = r.requests.rejected == 0 && !target_miss(serving, request.targets)};
}

// The traffic that a plan was ranked at.
PlanRequest question_at(const PlanRequest& question, const ServingEstimate& serving) {
  PlanRequest request = question;
  Workload& w = request.workload;
  if (!w.requests_per_second) w.concurrency = std::max<std::int64_t>(1, std::llround(serving.concurrency));
  return request;
}

SimulatedTraffic traffic_at(const ServingEstimate& serving) {
  return {.requests = requests_of(serving.concurrency), .length_cv_ratio = kLengthVariation};
}

void simulate_plan(const PlanRequest& question, std::size_t rank, Plan& plan) {
  PlanRequest request = question_at(question, plan.serving);
  request.max_batched_tokens = plan.max_batched_tokens;
  const SimulatedPool pool(request, plan.config, {}, {.router = "least_requests"}, plan.order);
  OutputPace pace;
  SimulationSettings settings;
  settings.records = &pace;
  const SimulationResult r = simulate_pool(request, pool, traffic_at(plan.serving), settings);
  plan.simulated = judged(request, rank, plan.serving, plan.config.gpus(), r, pace);
}

void simulate_plan(const PlanRequest& question, std::size_t rank, PoolsPlan& plan) {
  PlanRequest request = question;
  if (!request.workload.concurrency) request.workload.requests_per_second = plan.serving.requests_per_second;
  PlanRequest of_prompts = request, of_answers = request;  // the pools look into them
  of_prompts.max_batched_tokens = plan.prefill.plan.max_batched_tokens;
  of_answers.max_batched_tokens = plan.decode.plan.max_batched_tokens;
  const RoutingChoice routing{.router = "least_requests"};
  const SimulatedPool prefill(of_prompts, plan.prefill.plan.config, {}, routing, plan.prefill.plan.order);
  const SimulatedPool decode(of_answers, plan.decode.plan.config, {}, routing, plan.decode.plan.order);
  OutputPace pace;
  SimulationSettings settings;
  settings.records = &pace;
  const SimulationResult r = simulate_pools(request, prefill, decode, traffic_at(plan.serving), settings);
  plan.simulated = judged(request, rank, plan.serving, plan.gpus(), r, pace);
}

RankKey key_of(const SimulatedServing& simulated, ServingEstimate serving, std::int64_t gpus, std::int64_t parts) {
  serving.tpot = simulated.tpot;
  serving.output_tokens_per_second = simulated.output_tokens_per_second;
  return rank_key(simulated.score, gpus, parts, serving);
}

RankKey key_of(const Plan& p) { return key_of(*p.simulated, p.serving, p.config.gpus(), strategies_used(p.config)); }
RankKey key_of(const PoolsPlan& p) {
  return key_of(*p.simulated, p.serving, p.gpus(),
                strategies_used(p.prefill.plan.config) + strategies_used(p.decode.plan.config));
}

template <class AnyPlan>
void verify(const PlanRequest& request, std::size_t count, std::vector<AnyPlan>& plans) {
  const std::size_t most = std::min(count, plans.size());
  tbb::parallel_for(std::size_t{0}, most, [&](std::size_t i) { simulate_plan(request, i, plans[i]); });
  const auto better = [](const AnyPlan& a, const AnyPlan& b) {
    if (a.simulated->meets_targets != b.simulated->meets_targets) return a.simulated->meets_targets;
    return ranks_before(key_of(a), key_of(b));
  };
  std::stable_sort(plans.begin(), plans.begin() + static_cast<std::ptrdiff_t>(most), better);
}

}  // namespace

void verify_plans(const PlanRequest& request, std::size_t count, std::vector<Plan>& plans) {
  verify(request, count, plans);
}

void verify_pools(const PlanRequest& request, std::size_t count, std::vector<PoolsPlan>& plans) {
  verify(request, count, plans);
}

}  // namespace shardplan
