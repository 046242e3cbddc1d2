// The full search, timed: every strategy, all batch sizes, 64 GPUs, models of two kinds.
#include <benchmark/benchmark.h>

#include "models/catalog.h"
#include "planner/plan.h"

namespace shardplan {
namespace {

void search(benchmark::State& state, const char* model, const char* hardware, std::int64_t gpus) {
  PlanRequest request;
  request.model = load_model(model);
  request.hardware = load_hardware(hardware);
  request.gpus = gpus;
  request.workload.isl = 4096;
  request.workload.osl = 512;
  request.targets.tpot = Seconds(40e-3);
  std::int64_t considered = 0;
  for (auto _ : state) {
    const PlanResult result = search_plans(request);
    considered = result.stats.considered;
  }
  state.counters["considered"] = static_cast<double>(considered);
}

BENCHMARK_CAPTURE(search, moe_94_layers_64_gpus, "qwen3-235b-a22b", "h200-sxm", 64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search, deepseek_64_gpus, "deepseek-v3", "h200-sxm", 64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search, dense_8_gpus, "llama-3.1-70b", "h100-sxm", 8)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace shardplan
