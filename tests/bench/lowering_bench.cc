// Lowering one configuration, and compiling it to a price function: what a search pays per table of placements.
#include <benchmark/benchmark.h>

#include "models/catalog.h"
#include "tests/bench/bench_cases.h"
#include "tests/costmodel/setup.h"

namespace shardplan {
namespace {

const BenchCase& case_of(benchmark::State& state) {
  const BenchCase& bench = bench_cases()[static_cast<std::size_t>(state.range(0))];
  state.SetLabel(bench.model + " " + short_text(bench.config));
  return bench;
}

void check_config_of_case(benchmark::State& state) {
  const BenchCase& bench = case_of(state);
  const ModelSpec model = load_model(bench.model);
  for (auto _ : state) benchmark::DoNotOptimize(check_config(model, bench.config));
}
BENCHMARK(check_config_of_case)->DenseRange(0, 5);

void lower_case(benchmark::State& state) {
  const BenchCase& bench = case_of(state);
  const ModelSpec model = load_model(bench.model);
  const GraphFormats formats = default_formats(model);
  for (auto _ : state) benchmark::DoNotOptimize(lower_model(model, bench.config, formats));
}
BENCHMARK(lower_case)->DenseRange(0, 5)->Unit(benchmark::kMicrosecond);

void compile_case(benchmark::State& state) {
  const BenchCase& bench = case_of(state);
  const Setup setup(load_model(bench.model), bench.config, load_hardware("h200-sxm"), PriceMode::kCalibrated);
  for (auto _ : state) {
    benchmark::DoNotOptimize(StepPricer(setup.model(), setup.config(), setup.lowered(), setup.collectives(), {}));
  }
}
BENCHMARK(compile_case)->DenseRange(0, 5)->Unit(benchmark::kMicrosecond);

void make_ledger_of_case(benchmark::State& state) {
  const BenchCase& bench = case_of(state);
  const Setup setup(load_model(bench.model), bench.config, load_hardware("h200-sxm"));
  const MemoryDemand demand{.largest_step = {.prefill_sequences = 1, .prefill_tokens = 8192}, .request_tokens = 4096};
  for (auto _ : state) benchmark::DoNotOptimize(setup.ledger({}, demand));
}
BENCHMARK(make_ledger_of_case)->DenseRange(0, 5)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace shardplan
