#include "sim/priced_timer.h"

#include <cstdlib>
#include <memory>

#include "costmodel/stages.h"
#include "hwprofiles/fabric.h"
#include "models/catalog.h"
#include "models/number_format.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

// A model on one node, priced.
struct Priced {
  Priced(const std::string& name, const ParallelConfig& parallel)
      : model(load_model(name)), hardware(load_hardware("h100-sxm")), config(parallel),
        lowered(lower_model(model, config, {.activation = find_format("bf16"), .kv = find_format("bf16")})), fabric(hardware, config.instance_gpus()),
        collectives(hardware, fabric, PriceMode::kCalibrated), pricer(model, config, lowered, collectives, {}),
        stages(stage_layers(model, even_layer_split(model.layer_count(), config.pp))) {}
  ModelSpec model;
  HardwareProfile hardware;
  ParallelConfig config;
  LoweredModel lowered;
  Fabric fabric;
  CollectivePricer collectives;
  StepPricer pricer;
  std::vector<StageLayers> stages;
};

double decode_seconds(PricedTimer& timer, std::int64_t sequences, std::int64_t context) {
  const DecodeTime time = timer.decode(sequences, context);
  CHECK((time.low <= context && context < time.high));
  return to_seconds(time.latency.at(context - time.low)).value();
}

TEST_CASE("Decode lines stay within 0.1 % of the price, whatever the context") {
  for (const std::string name : {"llama-3.1-70b", "gpt-oss-120b", "deepseek-v3"}) {
    INFO(name);
    const Priced p(name, name == "llama-3.1-70b" ? ParallelConfig{.pp = 2, .tp = 4} : ParallelConfig{.tp = 8, .ep = 8});
    PricedTimer timer(p.pricer, p.stages, {});
    for (const std::int64_t sequences : {1, 7, 64, 500}) {
      for (const std::int64_t mean : {1, 15, 100, 129, 1'000, 5'333, 40'000, 131'071}) {
        const std::int64_t context = mean * sequences + sequences / 2;
        const BatchShape shape{.decode_sequences = sequences, .decode_context = static_cast<double>(context) / static_cast<double>(sequences)};
        CHECK(decode_seconds(timer, sequences, context) == Approx(p.pricer.step(p.stages, shape).seconds.value()).epsilon(1e-3));
      }
    }
  }
}

TEST_CASE("A decode time does not depend on what was asked before") {
  const Priced p("llama-3.1-8b", {});
  PricedTimer used(p.pricer, p.stages, {}), fresh(p.pricer, p.stages, {});
  for (std::int64_t sequences = 1; sequences < 400; ++sequences) (void)used.decode(sequences, sequences * 3000);
  CHECK(decode_seconds(used, 33, 33 * 777) == decode_seconds(fresh, 33, 33 * 777));
}

TEST_CASE("One chunk is priced exactly, and a step of several by tokens and pairs") {
  const Priced p("llama-3.1-8b", {});
  PricedTimer timer(p.pricer, p.stages, {});
  MixedTime time;
  timer.mixed({.decode_sequences = 8, .decode_context = 8 * 500, .prompts = 1, .prompt_tokens = 512, .prompt_pairs = 512 * 1024 + 512 * 513 / 2}, time);
  const BatchShape shape{.decode_sequences = 8, .decode_context = 500, .prefill_sequences = 1, .prefill_tokens = 512, .prefill_prefix = 1024};
  CHECK(to_seconds(time.latency).value() == Approx(p.pricer.step(p.stages, shape).seconds.value()).epsilon(1e-9));
  // 300 and 301 tokens: between the prices of two prompts of 300 and two of 301.
  const auto of = [&](std::int64_t tokens) {
    return p.pricer.step(p.stages, {.prefill_sequences = 2, .prefill_tokens = tokens}).seconds.value();
  };
  timer.mixed({.prompts = 2, .prompt_tokens = 601, .prompt_pairs = 300 * 301 / 2 + 301 * 302 / 2}, time);
  CHECK(to_seconds(time.latency).value() == Approx((of(300) + of(301)) / 2).epsilon(1e-3));
}

TEST_CASE("Launches of prompts cost nothing behind the captured step before") {
  const Priced p("llama-3.1-8b", {});
  PricedTimer timer(p.pricer, p.stages, {.prefill_launch_per_layer = Seconds(1e-3)});   // 32 ms, over any kernel here
  const auto mixed_after = [&timer](double behind) {
    MixedTime time;
    timer.mixed({.decode_sequences = 8, .decode_context = 8 * 500, .prompts = 1, .prompt_tokens = 64, .prompt_pairs = 64 * 65 / 2, .behind = sim_time(Seconds(behind))}, time);
    return to_seconds(time.latency).value();
  };
  CHECK(mixed_after(0) == Approx(0.032).epsilon(1e-2));
  CHECK(mixed_after(0.020) == Approx(0.012).epsilon(0.06));   // a smooth maximum with 9 ms of kernels
  const BatchShape shape{.decode_sequences = 8, .decode_context = 500, .prefill_sequences = 1, .prefill_tokens = 64};
  CHECK(mixed_after(1) == Approx(p.pricer.step(p.stages, shape).seconds.value()).epsilon(1e-9));
}

TEST_CASE("Host time is added per step, sequence and layer") {
  const Priced p("llama-3.1-8b", {});
  PricedTimer bare(p.pricer, p.stages, {});
  PricedTimer hosted(p.pricer, p.stages, {.per_step = Seconds(1e-3), .per_sequence = Seconds(1e-5), .per_layer = Seconds(1e-6), .groups = 2});
  const double more = decode_seconds(hosted, 10, 10'000) - decode_seconds(bare, 10, 10'000);
  CHECK(more == Approx(1e-3 + 5e-5 + 32e-6).epsilon(1e-6));
}

}  // namespace
}  // namespace shardplan
