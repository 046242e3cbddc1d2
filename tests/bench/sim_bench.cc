// How fast the simulator is: requests and events per second of CPU time, with and without taking runs of decode steps in
// one go, and whether both give the same result.
//
//   sim_bench [TRACE.csv] [REQUESTS]
// Replays the trace (when given) on Llama 3.1 70B (the same layers as Llama 2) over TP8 of A100s with a token budget of 512, then REQUESTS (default
// 1,000,000) synthetic requests on a linear step law. Prints peak memory after each.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>

#include "costmodel/ledger.h"
#include "costmodel/stages.h"
#include "costmodel/step_price.h"
#include "hwprofiles/fabric.h"
#include "models/catalog.h"
#include "models/number_format.h"
#include "sim/linear_timer.h"
#include "sim/priced_timer.h"
#include "sim/simulation.h"
#include "sim/workloads/open_loop.h"

namespace shardplan {
namespace {

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1e3;
}

bool same(const SimulationResult& a, const SimulationResult& b) {
  const auto equal = [](const TimeSummary& x, const TimeSummary& y) { return x.mean == y.mean && x.p50 == y.p50 && x.p99 == y.p99 && x.max == y.max; };
  return equal(a.ttft, b.ttft) && equal(a.tpot, b.tpot) && equal(a.e2e, b.e2e) && a.itl.p99 == b.itl.p99 && a.itl.max == b.itl.max &&
         a.steps == b.steps && a.simulated == b.simulated && a.requests.preempted == b.requests.preempted;
}

// Runs twice, skipping and not, on a workload that `make` opens anew.
template <class Make>
void compare(const char* title, SimulationInput input, const Make& make) {
  SimulationResult results[2];
  for (const bool skip : {true, false}) {
    const auto source = make();
    input.source = source.get();
    input.pool.instance.skip_ahead = skip;
    const double start = cpu_seconds();
    SimulationResult& result = results[skip ? 0 : 1];
    result = simulate(input);
    const double cpu = cpu_seconds() - start;
    fmt::print("{:<20} {:<9} {:>9} requests, {:>10} steps, {:>9} events: {:.3f} s CPU, {:.0f} requests/s, {:.0f} events/s, peak {:.0f} MB\n", title,
               skip ? "skipping" : "stepping", result.requests.completed, result.steps, result.events, cpu, static_cast<double>(result.requests.completed) / cpu,
               static_cast<double>(result.events) / cpu, peak_megabytes());
  }
  const SimulationResult& r = results[0];
  fmt::print("  TTFT mean {:.4f} p99 {:.4f} s, TPOT mean {:.4f} p99 {:.4f} s, {:.1f} output tokens/s, {} preemptions; skipping and stepping agree: {}\n",
             r.ttft.mean.value(), r.ttft.p99.value(), r.tpot.mean.value(), r.tpot.p99.value(), r.output_tokens_per_second, r.requests.preempted,
             same(results[0], results[1]));
}

void replay(const std::string& trace) {
  const double start = cpu_seconds();
  const ModelSpec model = load_model("llama-3.1-70b");
  const HardwareProfile hardware = load_hardware("a100-sxm-80gb");
  const ParallelConfig config{.tp = 8};
  const LoweredModel lowered = lower_model(model, config, {.activation = find_format("bf16"), .kv = find_format("bf16")});
  const Fabric fabric(hardware, 8);
  const CollectivePricer collectives(hardware, fabric, PriceMode::kCalibrated);
  const StepPricer pricer(model, config, lowered, collectives, {});
  const auto stages = stage_layers(model, even_layer_split(model.layer_count(), 1));
  const BatchShape largest{.decode_sequences = 255, .decode_context = 4096, .prefill_sequences = 1, .prefill_tokens = 512};
  const Ledger ledger = make_ledger(model, config, lowered, stages, hardware, {}, {.largest_step = largest, .request_tokens = 16'384});
  PricedTimer timer(pricer, stages, {.per_step = Seconds(0.6e-3), .per_sequence = Seconds(12e-6), .per_layer = Seconds(3e-6)});
  fmt::print("set-up {:.3f} s CPU, {} KV tokens\n", cpu_seconds() - start, ledger.group_capacity_tokens);
  SimulationInput input;
  input.pool.timer = &timer;
  input.pool.instance = {.limits = {.max_batched_tokens = 512, .max_sequences = 256}, .blocks = ledger.group_capacity_tokens / 16};
  input.server = {.fixed = Seconds(18e-3), .per_prompt_token = Seconds(2e-6)};
  compare("trace replay", input, [&trace] { return std::make_unique<TraceSource>(open_trace(trace)); });
}

void synthetic(std::int64_t requests) {
  LinearTimer timer({.fixed = SimTime(4'000'000'000), .per_decode = SimTime(20'000'000), .per_position = SimTime(5'000), .per_prompt_token = SimTime(8'000'000)});
  SimulationInput input;
  input.pool.timer = &timer;
  input.pool.instance = {.blocks = 30'000};
  compare("decode-heavy", input, [requests] {
    return std::make_unique<OpenLoop>(poisson_arrivals(RequestsPerSecond(20)), uniform_lengths({.prompt_tokens = 128, .output_tokens = 512}, 0.8), requests, 1);
  });
}

}  // namespace
}  // namespace shardplan

int main(int argc, char** argv) {
  if (argc > 1) shardplan::replay(argv[1]);
  shardplan::synthetic(argc > 2 ? std::atoll(argv[2]) : 1'000'000);
  return 0;
}
