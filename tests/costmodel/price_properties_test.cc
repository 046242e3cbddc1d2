// What must hold of every price: bounds, monotony, components that add up, and the same answer twice.
#include <rapidcheck.h>

#include "costmodel/compiled_graph.h"
#include "models/catalog.h"
#include "tests/catch.h"
#include "tests/costmodel/any_config.h"
#include "tests/costmodel/made_models.h"
#include "tests/costmodel/setup.h"

namespace shardplan {
namespace {

constexpr double kRounding = 1 + 1e-9;

HardwareProfile any_hardware() {
  return load_hardware(
      *rc::gen::element<std::string>("h100-sxm", "h200-sxm", "a100-sxm-80gb", "b200-sxm", "gb200-nvl72", "l40s"));
}

struct Case {
  ModelSpec model;
  ParallelConfig config;
  LoweredModel lowered;
  HardwareProfile hardware;
  [[nodiscard]] std::unique_ptr<Setup> setup(PriceMode mode) const { return setup(mode, hardware); }
  [[nodiscard]] std::unique_ptr<Setup> setup(PriceMode mode, const HardwareProfile& on) const {
    return std::make_unique<Setup>(model, config, lowered, on, mode);
  }
};

Case any_case() {
  const ModelSpec& model = *rc::gen::elementOf(property_models());
  const ParallelConfig config = any_config(model, 16);
  RC_LOG() << short_text(config) << '\n';
  return {model, config, lowered_or_discard(model, config), any_hardware()};
}

PriceMode any_mode() { return any_of(0, 1) == 0 ? PriceMode::kSpeedOfLight : PriceMode::kCalibrated; }

BatchShape any_shape() {
  BatchShape shape{.decode_sequences = any_of(0, 300), .decode_context = static_cast<double>(any_of(1, 5000))};
  if (shape.decode_sequences == 0 || any_of(0, 1) == 1) {
    shape.prefill_sequences = any_of(1, 4);
    shape.prefill_tokens = any_of(1, 3000);
    shape.prefill_prefix = static_cast<double>(any_of(0, 2000));
  }
  return shape;
}

TEST_CASE("Formats that a device has no units for run in bf16") {
  const DeviceSpec hopper = load_hardware("h200-sxm").device;
  const FlopsPerSecond bf16 = math_peak(hopper, nullptr);
  CHECK(math_peak(hopper, find_format("nvfp4")) == bf16);
  CHECK(math_peak(hopper, find_format("int4_g128")) == bf16);
  CHECK(math_peak(hopper, find_format("fp8")) > bf16);
  CHECK(math_peak(load_hardware("b200-sxm").device, find_format("nvfp4")) > math_peak(load_hardware("b200-sxm").device, find_format("fp8")));
}

TEST_CASE("Components of a step's time add up, and none is negative") {
  CHECK(rc::check([] {
    const Case c = any_case();
    const StepTime t = c.setup(any_mode())->step(any_shape());
    RC_ASSERT((t.compute + t.exposed_communication + t.overhead + t.wait).value() ==
              Approx(t.seconds.value()).epsilon(1e-9));
    for (const Seconds part : {t.compute, t.exposed_communication, t.overhead, t.wait})
      RC_ASSERT(part.value() >= -1e-12 * t.seconds.value());
    RC_ASSERT(t.exposed_communication.value() <= t.communication.value() * kRounding);
  }));
}

TEST_CASE("The rows of a breakdown without overlap add up to the step") {
  CHECK(rc::check([] {
    Case c = any_case();
    c.config.variant.overlap = Overlap::kNone;
    c.config.variant.hop_b = 1;
    RC_PRE(c.config.pcp == 1 || c.config.variant.pcp_comm != PcpComm::kRing);
    c.lowered = lowered_or_discard(c.model, c.config);
    const StepBreakdown step = c.setup(any_mode())->breakdown(any_shape());
    double sum = 0;
    for (const OpRow& row : step.ops) sum += row.time.value() * static_cast<double>(row.count);
    for (const CollectiveRow& row : step.collectives) sum += row.time.value() * static_cast<double>(row.count);
    RC_ASSERT(sum == Approx(step.time.seconds.value()).epsilon(1e-9));
  }));
}

TEST_CASE("Behind an all-reduce fused with it a norm is no launch, and its bytes remain") {
  const ModelSpec model = load_model("llama-3.1-8b");
  const Setup setup(model, {.tp = 8}, load_hardware("h200-sxm"), PriceMode::kCalibrated);
  constexpr double kTokens = 64;
  const double message = kTokens * 4096 * 2;
  const auto priced = [&](double limit) {
    PriceOptions options;
    if (limit > 0) options.fused_all_reduce = {{{8, limit}}};
    return StepPricer(model, setup.config(), setup.lowered(), setup.collectives(), options).breakdown(setup.stages(), {.decode_sequences = 64, .decode_context = 1000});
  };
  const StepBreakdown plain = priced(0), fused = priced(message), over = priced(message - 1);
  CHECK(over.time.seconds == plain.time.seconds);   // the message does not fit
  CHECK(collective_row(fused, "attention_out", "all_reduce").algorithm == "nvls+norm");
  CHECK(collective_row(plain, "attention_out", "all_reduce").algorithm == "nvls");
  double less = 0;
  for (const char* norm : {"attention_in", "ffn_in"}) {
    // What is left are its bytes, read and written once, and the weight: 0.22 us at the datasheet's bandwidth.
    CHECK(op_row(fused, norm).time.value() > (2 * message + 4096 * 2) / 4.8e12);
    CHECK(op_row(fused, norm).time.value() < 1.5 * (2 * message + 4096 * 2) / 4.8e12);
    less += op_row(plain, norm).time.value() - op_row(fused, norm).time.value();
  }
  CHECK(plain.time.seconds.value() - fused.time.seconds.value() == Approx(32 * less).epsilon(1e-9));
}

TEST_CASE("No calibrated price beats the speed of light") {
  // Where the switch does not reduce: there the bound is another one, see the collectives' own tests.
  CHECK(rc::check([] {
    Case c = any_case();
    c.hardware.node.in_switch_reduction = false;
    const BatchShape shape = any_shape();
    RC_ASSERT(c.setup(PriceMode::kSpeedOfLight)->step(shape).seconds.value() <=
              c.setup(PriceMode::kCalibrated)->step(shape).seconds.value() * kRounding);
  }));
}

TEST_CASE("More bandwidth or arithmetic never makes a step slower") {
  CHECK(rc::check([] {
    const Case c = any_case();
    const PriceMode mode = any_mode();
    const BatchShape shape = any_shape();
    HardwareProfile faster = c.hardware;
    const auto factor = [] { return 1 + static_cast<double>(any_of(0, 40)) / 10; };
    faster.device.memory_bandwidth = faster.device.memory_bandwidth * factor();
    const double arithmetic = factor();
    for (FlopsPerSecond& peak : faster.device.peak) peak = peak * arithmetic;
    faster.node.scale_up.bandwidth = faster.node.scale_up.bandwidth * factor();
    faster.node.nic.bandwidth = faster.node.nic.bandwidth * factor();
    faster.node.pcie.bandwidth = faster.node.pcie.bandwidth * factor();
    RC_ASSERT(c.setup(mode, faster)->step(shape).seconds.value() <=
              c.setup(mode)->step(shape).seconds.value() * kRounding);
  }));
}

TEST_CASE("More sequences or a longer context never make a decode step faster") {
  CHECK(rc::check([] {
    const Case c = any_case();
    const auto setup = c.setup(any_mode());
    const BatchShape small{.decode_sequences = any_of(1, 300), .decode_context = static_cast<double>(any_of(1, 5000))};
    BatchShape large = small;
    large.decode_sequences += any_of(0, 50);
    large.decode_context += static_cast<double>(any_of(0, 500));
    RC_ASSERT(setup->step(small).seconds.value() <= setup->step(large).seconds.value() * kRounding);
  }));
}

TEST_CASE("More prompt tokens never make a prefill faster") {
  // In steps that every layout cuts evenly: a zigzag of 3 tokens has a busier rank than one of 4.
  CHECK(rc::check([] {
    const Case c = any_case();
    const auto setup = c.setup(any_mode());
    const BatchShape small{.prefill_sequences = any_of(1, 3),
                           .prefill_tokens = 128 * any_of(1, 20),
                           .prefill_prefix = static_cast<double>(128 * any_of(0, 10))};
    BatchShape large = small;
    large.prefill_sequences += any_of(0, 2);
    large.prefill_tokens += 128 * any_of(0, 4);
    RC_ASSERT(setup->step(small).seconds.value() <= setup->step(large).seconds.value() * kRounding);
  }));
}

// The graphs of one phase alone, in place of mixed ones.
LoweredModel lower_pure(const ModelSpec& model, const ParallelConfig& config, StepForm form) {
  const GraphFormats formats = default_formats(model);
  const Strategy strategy = build_strategy(model, config, form);
  LoweredModel lowered = lower_model(model, config, formats);
  StageGraphs& graphs = lowered.forms.front();
  graphs.form = form;
  graphs.embedding = lower(embedding_graph(model, form, formats), strategy, form);
  graphs.head = lower(head_graph(model, form, formats), strategy, form);
  for (std::size_t k = 0; k < graphs.layers.size(); ++k)
    graphs.layers[k] = lower(layer_graph(model, model.kinds[k], form, formats), strategy, form);
  return lowered;
}

TEST_CASE("A mixed step with an empty phase is a step of the other phase alone") {
  CHECK(rc::check([] {
    Case c = any_case();
    RC_PRE(c.config.pcp == 1);
    const bool decode = any_of(0, 1) == 0;
    const BatchShape shape = decode ? even_decode() : even_prefill(any_of(0, 1) == 1);
    const PriceMode mode = any_mode();
    const auto mixed = c.setup(mode)->breakdown(shape);
    c.lowered = lower_pure(c.model, c.config, decode ? StepForm::kDecode : StepForm::kPrefill);
    const auto pure = c.setup(mode)->breakdown(shape);
    RC_ASSERT(mixed.time.seconds.value() == Approx(pure.time.seconds.value()).epsilon(1e-9));
    RC_ASSERT(mixed.ops.size() == pure.ops.size());
    RC_ASSERT(mixed.collectives.size() == pure.collectives.size());
  }));
}

TEST_CASE("Lowering and pricing twice give the same bits") {
  CHECK(rc::check([] {
    const Case c = any_case();
    const PriceMode mode = any_mode();
    const BatchShape shape = any_shape();
    const LoweredModel again = lowered_or_discard(c.model, c.config);
    for (std::size_t k = 0; k < c.model.kinds.size(); ++k) {
      const StepGraph& first = c.lowered.forms.front().layers[k];
      const StepGraph& second = again.forms.front().layers[k];
      RC_ASSERT(first.values.size() == second.values.size());
      for (std::size_t i = 0; i < first.values.size(); ++i)
        RC_ASSERT(first.values[i].placement.text(first.mesh) == second.values[i].placement.text(second.mesh));
      RC_ASSERT(collective_lines(first, shape, c.config) == collective_lines(second, shape, c.config));
    }
    RC_ASSERT(c.setup(mode)->step(shape).seconds ==
              Setup(c.model, c.config, again, c.hardware, mode).step(shape).seconds);
  }));
}

}  // namespace
}  // namespace shardplan
