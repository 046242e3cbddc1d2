#include "planner/serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/short_number.h"

namespace shardplan {
namespace {

class SteadyState {
 public:
  SteadyState(const ServingInput& input, const Workload& workload)
      : in_(input), work_(workload), plain_(input.times), limit_(running_limit(input, workload)) {
    plain_.factors = {};   // the pricer has them
  }

  // `requests` in a closed loop over one instance.
  ServingEstimate closed(double requests) {
    ServingEstimate out;
    out.running = std::min(requests, limit_.requests);
    out.bound = out.running >= requests ? "concurrency" : limit_.bound;
    if (out.running < 1) return refuse("the cache holds no request of this length");
    solve(out);
    const double waiting = requests - out.running;
    if (waiting > 0) out.ttft_queue += Seconds(waiting / out.requests_per_second);
    out.concurrency = requests;
    finish(out);
    return out;
  }

  // Running requests so that the instance completes `rate` requests per second.
  ServingEstimate open(double rate) {
    const double most = limit_.requests;
    if (most < 1) return refuse("the cache holds no request of this length");
    ServingEstimate top;
    top.running = most;
    solve(top);
    if (top.requests_per_second <= rate) {
      return refuse(fmt::format("{} requests/s per instance exceed the {} that {} running requests complete",
                                short_number(rate), short_number(top.requests_per_second), short_number(most)));
    }
    double low = 0;
    double high = most;
    for (int i = 0; i < 40; ++i) {
      ServingEstimate middle;
      middle.running = (low + high) / 2;
      solve(middle);
      (middle.requests_per_second < rate ? low : high) = middle.running;
    }
    ServingEstimate out;
    out.running = high;
    out.bound = "rate";
    solve(out);
    const double utilisation = rate / top.requests_per_second;   // waiting for a place grows as the deployment fills
    const Seconds wait(utilisation * utilisation / (1 - utilisation) / rate * 0.5);
    if (work_.osl > 1) out.ttft_queue += wait;
    else gather(out, rate, wait);
    out.concurrency = out.running + out.ttft_queue.value() * rate;
    finish(out);
    return out;
  }

 private:
  // Prompts that wait together are taken together, and a larger set takes longer: N = rate*(own steps + wait).
  void gather(ServingEstimate& out, double rate, Seconds wait) const {
    for (int i = 0; i < 40; ++i) {
      const double before = out.running;
      out.running = std::clamp(rate * (out.ttft_prefill + wait).value(), before, limit_.requests);
      solve(out);
      if (out.running < before * 1.001) break;
    }
    out.ttft_queue = std::max(wait, Seconds(out.running / rate) - out.ttft_prefill);
    out.requests_per_second = rate;
  }

  static ServingEstimate refuse(std::string reason) {
    ServingEstimate out;
    out.feasible = false;
    out.reason = std::move(reason);
    return out;
  }

  void solve(ServingEstimate& out) const {
    const LoopTimes times = solve_loop(loop_steps(in_, work_, out.running), plain_, loop_traffic(work_));
    out.decode_step = Seconds(times.decode_step);
    out.prefill_extra = Seconds(times.prefill_extra);
    out.tpot = Seconds(times.tpot);
    out.ttft_prefill = Seconds(times.ttft_prefill);
    out.ttft_queue = Seconds(times.ttft_queue);
    out.ttft_host = Seconds(times.ttft_host);
    out.requests_per_second = times.requests_per_second;
  }

  void finish(ServingEstimate& out) const {
    out.ttft = out.ttft_prefill + out.ttft_queue + out.ttft_host;
    const double steps = std::max<double>(0, static_cast<double>(work_.osl - 1));
    out.e2e = out.ttft + out.tpot * steps;
    out.output_tokens_per_second = out.requests_per_second * static_cast<double>(work_.osl);
    out.output_tokens_per_second_per_gpu = out.output_tokens_per_second / static_cast<double>(in_.config.instance_gpus());
    out.tokens_per_second_per_user = 1 / out.tpot.value();
  }

  const ServingInput& in_;
  const Workload& work_;
  EngineTimes plain_;
  RunningLimit limit_;
};

void scale_to_replicas(ServingEstimate& out, std::int64_t replicas) {
  const auto n = static_cast<double>(replicas);
  out.concurrency *= n;
  out.requests_per_second *= n;
  out.output_tokens_per_second *= n;
}

bool meets(const ServingEstimate& e, const Targets& targets) {
  const auto within = [&targets](Seconds value, double spread, const std::optional<Seconds>& target) {
    return !target || value * targets.margin_ratio(spread) <= *target;
  };
  return e.feasible && within(e.ttft, e.spread.ttft, targets.ttft) && within(e.tpot, e.spread.tpot, targets.tpot) &&
         within(e.e2e, e.spread.end_to_end, targets.e2e);
}

}  // namespace

ServingEstimate estimate_closed(const ServingInput& input, const Workload& workload, double requests) {
  return SteadyState(input, workload).closed(requests);
}

ServingEstimate estimate_serving(const ServingInput& input, const Workload& workload) {
  const auto replicas = static_cast<double>(input.config.replicas);
  SteadyState state(input, workload);
  ServingEstimate out;
  if (workload.requests_per_second) out = state.open(*workload.requests_per_second / replicas);
  else out = state.closed(workload.concurrency ? std::max(1.0, static_cast<double>(*workload.concurrency) / replicas) : 1);
  if (out.feasible) scale_to_replicas(out, input.config.replicas);
  return out;
}

double best_concurrency(const ServingInput& input, const Workload& workload, const Targets& targets) {
  SteadyState state(input, workload);
  const auto holds = [&](double requests) {
    ServingEstimate estimate = state.closed(requests);
    if (targets.deviations > 0 && estimate.feasible) estimate.spread = serving_spread(input, workload, estimate);
    return meets(estimate, targets);
  };
  const double cap = std::floor(running_limit(input, workload).requests);
  if (cap < 1 || !holds(1)) return 0;
  double low = 1;
  double high = cap;
  if (holds(high)) return high;
  while (high - low > std::max(0.5, low / 64)) {   // latency grows with the requests at work
    const double middle = std::floor((low + high) / 2);
    if (middle <= low) break;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

Seconds overlapped_parts(std::int64_t parts, Seconds a, Seconds e) {
  return std::max(a, e) * static_cast<double>(parts) + std::min(a, e);
}

Seconds pipeline_cycle(const std::vector<Seconds>& stages, Seconds hops, std::int64_t in_flight) {
  Seconds slowest;
  Seconds sum = hops;
  for (const Seconds t : stages) {
    slowest = std::max(slowest, t);
    sum += t;
  }
  return std::max(slowest, sum / static_cast<double>(in_flight));
}

}  // namespace shardplan
