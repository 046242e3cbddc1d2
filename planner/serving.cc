#include "planner/serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace shardplan {
namespace {

// One step's stage times and hop, host time left out.
struct StageTimes {
  double slowest = 0;
  double sum = 0;      // stages and hops: one batch alone through the pipeline
};

bool alike(const StageLayers& a, const StageLayers& b) {
  return a.is_first == b.is_first && a.is_last == b.is_last && a.of_kind == b.of_kind;
}

class SteadyState {
 public:
  SteadyState(const ServingInput& input, const Workload& workload) : in_(input), work_(workload) {
    fresh_ = std::max<std::int64_t>(1, work_.isl - work_.prefix);
    context_ = static_cast<double>(work_.isl) + static_cast<double>(work_.osl) / 2;
  }

  // `requests` in a closed loop over one instance.
  ServingEstimate closed(double requests) {
    ServingEstimate out;
    const auto capacity = static_cast<double>(in_.ledger.request_capacity(held_tokens()));
    const auto seats = static_cast<double>(in_.scheduler.max_sequences * in_.config.dpa);
    out.running = std::min({requests, capacity, seats});
    out.bound = out.running >= requests ? "concurrency" : capacity <= seats ? "kv cache" : "seats";
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
    const double most = std::min(static_cast<double>(in_.ledger.request_capacity(held_tokens())),
                                 static_cast<double>(in_.scheduler.max_sequences * in_.config.dpa));
    if (most < 1) return refuse("the cache holds no request of this length");
    ServingEstimate top;
    top.running = most;
    solve(top);
    if (top.requests_per_second <= rate) {
      return refuse(fmt::format("{:.3g} requests/s per instance exceed the {:.3g} that {:.0f} running requests complete", rate, top.requests_per_second, most));
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
    out.ttft_queue += Seconds(utilisation * utilisation / (1 - utilisation) / rate * 0.5);
    out.concurrency = out.running + out.ttft_queue.value() * rate;
    finish(out);
    return out;
  }

 private:
  // A request holds its prompt and, on average, half its output while it runs.
  [[nodiscard]] std::int64_t held_tokens() const { return work_.isl + work_.osl / 2; }

  static ServingEstimate refuse(std::string reason) {
    ServingEstimate out;
    out.feasible = false;
    out.reason = std::move(reason);
    return out;
  }

  [[nodiscard]] StageTimes stage_times(const BatchShape& shape) const {
    StageTimes out;
    const StageLayers* before = nullptr;
    double seconds = 0;
    for (const StageLayers& stage : in_.stages) {   // stages that hold the same layers take the same time
      if (before == nullptr || !alike(*before, stage)) {
        seconds = in_.pricer.stage(stage, shape).seconds.value() + in_.host.per_layer.value() * static_cast<double>(stage.count);
        before = &stage;
      }
      out.slowest = std::max(out.slowest, seconds);
      out.sum += seconds;
    }
    if (in_.stages.size() > 1) out.sum += in_.pricer.hop(shape).value() * static_cast<double>(in_.stages.size() - 1);
    return out;
  }

  // Time between two tokens of one request when `in_flight` batches share the pipeline.
  [[nodiscard]] double cycle(const StageTimes& t, double in_flight) const { return std::max(in_flight * t.slowest, t.sum); }

  [[nodiscard]] double host(double sequences) const {
    return in_.host.per_step.value() + in_.host.per_sequence.value() * sequences / static_cast<double>(in_.config.dpa);
  }

  // Shape of one batch in flight: decode sequences, and a chunk of prompts.
  [[nodiscard]] BatchShape shape(double sequences, double prompts, double chunk, double prefix) const {
    BatchShape s;
    s.decode_sequences = static_cast<std::int64_t>(std::ceil(sequences));
    s.decode_context = context_;
    s.prefill_sequences = static_cast<std::int64_t>(std::ceil(prompts));
    s.prefill_tokens = static_cast<std::int64_t>(std::ceil(chunk));
    s.prefill_prefix = prefix;
    return s;
  }

  struct Prefill {
    double chunks = 1;        // steps that one prompt takes
    double chunk = 0;         // tokens of it in each
    double prompts = 1;       // prompts per step (small ones share a step)
    double extra = 0;         // time it adds to others, all its chunks together
    double own = 0;           // time of its own steps, decode tokens of others included
  };

  // Chunks fill the token budget beside the decode tokens of the batch; attention groups prefill in step.
  [[nodiscard]] Prefill prefill(double sequences, const StageTimes& decode) const {
    Prefill out;
    const double groups = static_cast<double>(in_.config.dpa);
    const double room = std::max(1.0, static_cast<double>(in_.scheduler.max_batched_tokens) - (in_.mixes ? sequences / groups : 0));
    out.chunks = std::ceil(static_cast<double>(fresh_) / room);
    out.chunk = std::ceil(static_cast<double>(fresh_) / out.chunks);
    out.prompts = std::min(groups, std::max(1.0, sequences));   // one prompt in each group of a step
    const double prefix = static_cast<double>(work_.prefix) + (out.chunks - 1) / 2 * out.chunk;
    const BatchShape with = shape(in_.mixes ? sequences : 0, out.prompts, out.chunk, prefix);
    StageTimes mixed = stage_times(with);
    const double floor = in_.host.prefill_launch_per_layer.value();   // launches of a step with prompts are not captured
    double layers = 0;
    for (const StageLayers& stage : in_.stages) layers = std::max(layers, static_cast<double>(stage.count));
    const double total_floor = floor * layers * static_cast<double>(in_.stages.size());
    mixed.slowest = smooth_max(mixed.slowest, floor * layers);
    mixed.sum = smooth_max(mixed.sum, total_floor);
    const double base = in_.mixes ? decode.slowest : 0;
    out.extra = out.chunks * std::max(0.0, mixed.slowest - base) / out.prompts;
    // Chunks of one prompt follow one another through the stages.
    out.own = mixed.sum + (out.chunks - 1) * std::max(mixed.slowest, mixed.sum / static_cast<double>(in_.stages.size())) + out.chunks * host(sequences);
    return out;
  }

  static double smooth_max(double a, double b) { return std::pow(std::pow(a, 4) + std::pow(b, 4), 0.25); }

  // The closed loop of out.running requests: see serving.h.
  void solve(ServingEstimate& out) const {
    const double n = out.running;
    const auto in_flight = static_cast<double>(std::min<std::int64_t>(in_.config.pp, std::max<std::int64_t>(1, static_cast<std::int64_t>(n))));
    const double per_batch = n / in_flight;
    const StageTimes decode = stage_times(shape(per_batch, 0, 0, 0));
    const Prefill one = prefill(per_batch, decode);
    const double td = cycle(decode, in_flight) + host(per_batch);
    const double steps = std::max<double>(1, static_cast<double>(work_.osl - 1));
    const double others = n > 1 ? (n - 1) / n : 0;
    // lambda = n/(t0 + steps*x), x = td + lambda*extra*others*x  =>  steps*x^2 + (t0 - n*extra*others - td*steps)*x - td*t0 = 0
    const double t0 = one.own;
    const double b = t0 - n * one.extra * others - td * steps;
    const double x = (-b + std::sqrt(b * b + 4 * steps * td * t0)) / (2 * steps);
    const double lambda = n / (t0 + steps * x);
    const double busy = std::min(0.95, lambda * one.extra);
    out.decode_step = Seconds(td);
    out.prefill_extra = Seconds(one.extra);
    out.tpot = Seconds(x);
    out.ttft_prefill = Seconds(t0);
    // Half of the step under way, and prompts ahead of it.
    out.ttft_queue = n > 1 ? Seconds(0.5 * (td + busy * one.extra) + 0.5 * busy / (1 - busy) * one.extra) : Seconds(0);
    out.ttft_host = in_.host.first_token;
    out.requests_per_second = lambda;
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
  std::int64_t fresh_ = 1;
  double context_ = 0;
};

void scale_to_replicas(ServingEstimate& out, std::int64_t replicas) {
  const auto n = static_cast<double>(replicas);
  out.concurrency *= n;
  out.requests_per_second *= n;
  out.output_tokens_per_second *= n;
}

bool meets(const ServingEstimate& e, const Targets& targets) {
  return e.feasible && (!targets.ttft || e.ttft <= *targets.ttft) && (!targets.tpot || e.tpot <= *targets.tpot) &&
         (!targets.e2e || e.e2e <= *targets.e2e);
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
  const auto cap = static_cast<double>(std::min(input.ledger.request_capacity(workload.isl + workload.osl / 2),
                                                input.scheduler.max_sequences * input.config.dpa));
  if (cap < 1 || !meets(state.closed(1), targets)) return 0;
  double low = 1;
  double high = cap;
  if (meets(state.closed(high), targets)) return high;
  while (high - low > std::max(0.5, low / 64)) {   // latency grows with the requests at work
    const double middle = std::floor((low + high) / 2);
    if (middle <= low) break;
    (meets(state.closed(middle), targets) ? low : high) = middle;
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
