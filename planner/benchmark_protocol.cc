#include "planner/benchmark_protocol.h"

#include <string>

#include "base/errors.h"

namespace shardplan {
namespace {

constexpr std::int64_t kShort = 1024;  // tokens of "1k"
constexpr std::int64_t kWholeNode = 8;
constexpr std::int64_t kWaitSteps = 20;

double little_rate(std::int64_t concurrency, std::int64_t osl, const BenchmarkPrediction& p) {
  return static_cast<double>(concurrency * osl) / (p.ttft + p.tpot * static_cast<double>(osl - 1)).value();
}

SimulatedTraffic traffic_of(const PlanRequest& request, const BenchmarkProtocol& protocol) {
  return {.requests = protocol.requests_per_user * *request.workload.concurrency,
          .length_ratio = protocol.length_ratio,
          .seed = protocol.seed};
}

// `pool` holds the requests that decode.
void fill(const PlanRequest& request, const SimulatedPool& pool, const BenchmarkProtocol& protocol,
          const SimulationResult& result, BenchmarkPrediction& out) {
  if (result.requests.completed == 0) return;
  const Workload& w = request.workload;
  out.simulated = true;
  out.ttft = result.ttft.mean;
  out.tpot = result.tpot.mean;
  out.ttft_median = result.ttft.p50;
  out.output_tokens_per_second = little_rate(*w.concurrency, w.osl, out);
  const double mean_length = (1 + protocol.length_ratio) / 2;
  const double held =
      mean_length * (static_cast<double>(w.isl) + static_cast<double>(w.osl) / 2) * static_cast<double>(*w.concurrency);
  out.kv_demand_ratio = held / static_cast<double>(pool.ledger().kv_capacity_tokens * pool.config().replicas);
  out.preempted = result.requests.preempted;
}

}  // namespace

BenchmarkProtocol inferencex_protocol(const PlanRequest& request, const ParallelConfig& config) {
  BenchmarkProtocol protocol;
  const Workload& w = request.workload;
  const bool tensorrt = times_key(request).engine == "trtllm";
  if (tensorrt) protocol.scheduling.chunked_prefill = false;  // their recipes set no chunking
  const bool waits =
      tensorrt && !request.model.is_moe() && w.isl <= kShort && w.osl <= kShort && config.instance_gpus() < kWholeNode;
  if (waits) protocol.scheduling.hold_steps = kWaitSteps;
  return protocol;
}

BenchmarkPrediction simulate_benchmark(const PlanRequest& request, const ParallelConfig& config,
                                       const BenchmarkProtocol& protocol) {
  ensure(request.workload.concurrency.value_or(0) > 0, "a benchmark's closed loop needs a concurrency");
  BenchmarkPrediction out;
  if (!violations_of(request, config).empty()) return out;
  const SimulatedPool pool(request, config, protocol.scheduling, {.router = "least_requests"});
  if (!pool.ledger().fits) return out;
  fill(request, pool, protocol, simulate_pool(request, pool, traffic_of(request, protocol), {}), out);
  return out;
}

BenchmarkPrediction simulate_benchmark_pools(const PlanRequest& request, const PoolConfigs& pools,
                                             const BenchmarkProtocol& protocol) {
  ensure(request.workload.concurrency.value_or(0) > 0, "a benchmark's closed loop needs a concurrency");
  BenchmarkPrediction out;
  if (!check_config(request.model, pools.prefill).empty() || !check_config(request.model, pools.decode).empty())
    return out;
  const RoutingChoice routing{.router = "least_requests"};
  const SimulatedPool prefill(request, pools.prefill, protocol.scheduling, routing);
  const SimulatedPool decode(request, pools.decode, protocol.scheduling, routing);
  if (!prefill.ledger().fits || !decode.ledger().fits) return out;
  fill(request, decode, protocol, simulate_pools(request, prefill, decode, traffic_of(request, protocol), {}), out);
  return out;
}

}  // namespace shardplan
