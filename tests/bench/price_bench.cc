// Pricing one batch shape after compilation: what a simulator pays per step.
#include <benchmark/benchmark.h>

#include "models/catalog.h"
#include "tests/bench/bench_cases.h"
#include "tests/costmodel/setup.h"

namespace shardplan {
namespace {

// A shape of another size on every turn, so that nothing is remembered.
BatchShape next_shape(BatchShape shape, std::int64_t turn) {
  shape.decode_context += static_cast<double>(turn % 4096);
  return shape;
}

void price(benchmark::State& state, const BatchShape& shape) {
  const BenchCase& bench = bench_cases()[static_cast<std::size_t>(state.range(0))];
  state.SetLabel(bench.model + " " + short_text(bench.config));
  const Setup setup(load_model(bench.model), bench.config, load_hardware("h200-sxm"), PriceMode::kCalibrated);
  std::int64_t turn = 0;
  for (auto _ : state) benchmark::DoNotOptimize(setup.step(next_shape(shape, turn++)));
}

void price_decode(benchmark::State& state) { price(state, {.decode_sequences = 64, .decode_context = 4096}); }
BENCHMARK(price_decode)->DenseRange(0, 5);

void price_mixed(benchmark::State& state) {
  price(state, {.decode_sequences = 64,
                .decode_context = 4096,
                .prefill_sequences = 1,
                .prefill_tokens = 2048,
                .prefill_prefix = 4096});
}
BENCHMARK(price_mixed)->DenseRange(0, 5);

}  // namespace
}  // namespace shardplan
