#include "planner/benchmark_protocol.h"

#include <string>

#include "base/errors.h"

namespace shardplan {
namespace {

constexpr std::int64_t kShort = 1024;            // tokens of "1k"
constexpr std::int64_t kWholeNode = 8;
constexpr std::int64_t kWaitSteps = 20;

double little_rate(std::int64_t concurrency, std::int64_t osl, const BenchmarkPrediction& p) {
  return static_cast<double>(concurrency * osl) / (p.ttft + p.tpot * static_cast<double>(osl - 1)).value();
}

}  // namespace

BenchmarkProtocol inferencex_protocol(const PlanRequest& request, const ParallelConfig& config) {
  BenchmarkProtocol protocol;
  const Workload& w = request.workload;
  const bool tensorrt = request.engine != nullptr && std::string(request.engine->name) == "trtllm";
  const bool waits = tensorrt && !request.model.is_moe() && w.isl <= kShort && w.osl <= kShort && config.instance_gpus() < kWholeNode;
  if (waits) protocol.scheduling.hold_steps = kWaitSteps;
  return protocol;
}

BenchmarkPrediction simulate_benchmark(const PlanRequest& request, const ParallelConfig& config, const BenchmarkProtocol& protocol) {
  const std::int64_t users = request.workload.concurrency.value_or(0);
  ensure(users > 0, "a benchmark's closed loop needs a concurrency");
  BenchmarkPrediction out;
  if (!violations_of(request, config).empty()) return out;
  const SimulatedPool pool(request, config, protocol.scheduling, {});
  if (!pool.ledger().fits) return out;
  const SimulatedTraffic traffic{.requests = protocol.requests_per_user * users, .length_ratio = protocol.length_ratio, .seed = protocol.seed};
  const SimulationResult result = simulate_pool(request, pool, traffic, {});
  if (result.requests.completed == 0) return out;
  out.simulated = true;
  out.ttft = result.ttft.mean;
  out.tpot = result.tpot.mean;
  out.ttft_median = result.ttft.p50;
  out.output_tokens_per_second = little_rate(users, request.workload.osl, out);
  const double mean_length = (1 + protocol.length_ratio) / 2;
  const double held = mean_length * (static_cast<double>(request.workload.isl) + static_cast<double>(request.workload.osl) / 2);
  out.kv_demand_ratio = held * static_cast<double>(users) / static_cast<double>(pool.ledger().kv_capacity_tokens * config.replicas);
  out.preempted = result.requests.preempted;
  return out;
}

}  // namespace shardplan
