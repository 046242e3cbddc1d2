#include "planner/simulated_traffic.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/suggest.h"
#include "sim/workloads/closed_loop.h"
#include "sim/workloads/open_loop.h"
#include "sim/workloads/sessions.h"
#include "sim/workloads/trace.h"

namespace shardplan {
namespace {

bool has_load(const Workload& workload) { return workload.concurrency || workload.requests_per_second; }

std::unique_ptr<TraceReader> open(const SimulatedTraffic& traffic) {
  if (traffic.trace_format.empty()) return open_trace(traffic.trace);
  std::vector<std::string> names;
  for (const TraceFormat& format : trace_formats()) {
    if (traffic.trace_format == format.name) return format.open(traffic.trace);
    names.emplace_back(format.name);
  }
  throw InputError("trace format", "\"" + traffic.trace_format + "\" is unknown", nearest_hint(traffic.trace_format, names));
}

// The lengths of a trace in its order, from the start again at its end.
class TraceLengths : public LengthModel {
 public:
  explicit TraceLengths(const SimulatedTraffic& traffic) : traffic_(traffic), reader_(open(traffic)) {}
  RequestLengths next(Random&) override {
    if (!reader_->next(row_)) {
      reader_ = open(traffic_);
      if (!reader_->next(row_)) throw InputError(traffic_.trace, "has no requests", "at least one");
    }
    return {.prompt_tokens = row_.prompt_tokens, .output_tokens = row_.output_tokens};
  }

 private:
  SimulatedTraffic traffic_;
  std::unique_ptr<TraceReader> reader_;
  RequestSpec row_;
};

RequestLengths nominal_lengths(const SimulatedTraffic& traffic, const Workload& workload) {
  if (traffic.nominal.prompt_tokens > 0) return traffic.nominal;
  return {.prompt_tokens = workload.isl, .output_tokens = workload.osl};
}

std::unique_ptr<LengthModel> make_lengths(const SimulatedTraffic& traffic, const Workload& workload) {
  if (!traffic.trace.empty()) return std::make_unique<TraceLengths>(traffic);
  const RequestLengths nominal = nominal_lengths(traffic, workload);
  if (traffic.length_cv_ratio > 0) return lognormal_lengths(nominal, traffic.length_cv_ratio);
  return traffic.length_ratio < 1 ? uniform_lengths(nominal, traffic.length_ratio) : fixed_lengths(nominal);
}

std::unique_ptr<ArrivalProcess> make_arrivals(const SimulatedTraffic& traffic, RequestsPerSecond rate) {
  switch (traffic.arrival) {
    case Arrival::kEven: return even_arrivals(rate);
    case Arrival::kGamma: return gamma_arrivals(rate, traffic.gamma_cv_ratio);
    case Arrival::kRamp: return ramp_arrivals(RequestsPerSecond(traffic.ramp_from), rate, traffic.ramp_over);
    case Arrival::kPoisson: break;
  }
  return poisson_arrivals(rate);
}

bool has_sessions(const SimulatedTraffic& traffic) { return traffic.turns > 1 || traffic.prefix_tokens > 0; }

// Conversations; requests count turns, and so does the rate.
std::unique_ptr<RequestSource> make_sessions(const SimulatedTraffic& traffic, const Workload& workload, std::int64_t requests, std::int64_t block_tokens) {
  SessionSettings settings{.sessions = (requests + traffic.turns - 1) / traffic.turns,
                           .turns = traffic.turns,
                           .concurrency = workload.concurrency.value_or(0),
                           .system_tokens = traffic.prefix_tokens,
                           .hash_tokens = block_tokens,
                           .pause = traffic.pause,
                           .seed = traffic.seed};
  std::unique_ptr<ArrivalProcess> arrivals;
  if (!workload.concurrency) arrivals = make_arrivals(traffic, RequestsPerSecond(*workload.requests_per_second / static_cast<double>(traffic.turns)));
  return std::make_unique<Sessions>(settings, std::move(arrivals), make_lengths(traffic, workload));
}

constexpr std::int64_t kTail = 8;   // of lognormal lengths, over their mean

}  // namespace

RequestLengths sizing_lengths(const SimulatedTraffic& traffic, const Workload& workload) {
  if (!traffic.trace.empty()) return longest_request(traffic, workload);
  const std::int64_t tail = traffic.length_cv_ratio > 0 ? kTail : 1;
  const RequestLengths nominal = nominal_lengths(traffic, workload);
  const std::int64_t prompt = nominal.prompt_tokens * tail;
  const std::int64_t output = nominal.output_tokens * tail;
  return {.prompt_tokens = traffic.prefix_tokens + (traffic.turns - 1) * (prompt + output) + prompt, .output_tokens = output};
}

RequestLengths longest_request(const SimulatedTraffic& traffic, const Workload& workload) {
  const auto reader = open(traffic);
  if (!reader->has_arrivals() && !has_load(workload)) {
    throw InputError(traffic.trace, "holds lengths without arrivals", "--concurrency or --request-rate beside it");
  }
  RequestLengths longest{.prompt_tokens = 0, .output_tokens = 0};
  RequestSpec row;
  while (reader->next(row)) {
    if (row.prompt_tokens + row.output_tokens <= longest.prompt_tokens + longest.output_tokens) continue;
    longest = {.prompt_tokens = row.prompt_tokens, .output_tokens = row.output_tokens};
  }
  if (longest.prompt_tokens == 0) throw InputError(traffic.trace, "has no requests", "at least one");
  return longest;
}

std::unique_ptr<RequestSource> make_source(const SimulatedTraffic& traffic, const Workload& workload, std::int64_t block_tokens) {
  const std::int64_t requests = traffic.requests > 0 ? traffic.requests : SimulatedTraffic::kDefaultRequests;
  if (has_load(workload) && has_sessions(traffic)) return make_sessions(traffic, workload, requests, block_tokens);
  if (workload.concurrency) {
    return std::make_unique<ClosedLoop>(*workload.concurrency, requests, make_lengths(traffic, workload), traffic.seed);
  }
  if (workload.requests_per_second) {
    auto arrivals = make_arrivals(traffic, RequestsPerSecond(*workload.requests_per_second));
    return std::make_unique<OpenLoop>(std::move(arrivals), make_lengths(traffic, workload), requests, traffic.seed);
  }
  if (traffic.trace.empty()) throw InputError("simulation", "has no load", "a concurrency, a rate or a trace");
  return std::make_unique<TraceSource>(open(traffic), traffic.trace_speed_ratio, traffic.requests > 0 ? traffic.requests : INT64_MAX);
}

}  // namespace shardplan
