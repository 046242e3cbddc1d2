// Closed forms of causal pairs: the only symbols whose cost grows with the ranks of the group.
#include <benchmark/benchmark.h>

#include "costmodel/causal_load.h"

namespace shardplan {
namespace {

void ring_pairs_of(benchmark::State& state, Layout layout) {
  const CausalTask task{.layout = layout, .parts = state.range(0), .new_tokens = 131072, .prefix = 1000};
  for (auto _ : state) benchmark::DoNotOptimize(ring_pairs(task));
}
BENCHMARK_CAPTURE(ring_pairs_of, zigzag, Layout::kZigzag)->RangeMultiplier(4)->Range(2, 128);
BENCHMARK_CAPTURE(ring_pairs_of, striped, Layout::kStriped)->RangeMultiplier(4)->Range(2, 128);

void busiest_pairs_of(benchmark::State& state, Layout layout) {
  const CausalTask task{.layout = layout, .parts = state.range(0), .new_tokens = 131072, .prefix = 1000};
  for (auto _ : state) benchmark::DoNotOptimize(busiest_pairs(task));
}
BENCHMARK_CAPTURE(busiest_pairs_of, zigzag, Layout::kZigzag)->RangeMultiplier(4)->Range(2, 128);

}  // namespace
}  // namespace shardplan
