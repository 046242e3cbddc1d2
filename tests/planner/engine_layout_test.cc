// How engines number ranks, split layers, read memory fractions and give their own defaults.
#include <algorithm>

#include "costmodel/lowering/registry.h"
#include "costmodel/step_price.h"
#include "models/catalog.h"
#include "planner/engines/sglang.h"
#include "planner/notes.h"
#include "planner/rules.h"
#include "tests/base/message_of.h"
#include "tests/catch.h"
#include "tests/planner/engine_cases.h"

namespace shardplan {
namespace {

using Split = std::vector<std::int64_t>;
using Groups = std::vector<std::vector<std::int64_t>>;

// Devices of every group over `digits` of a stage, for every stage, in order of their first device.
Groups groups_of(const char* engine, const ModelSpec& model, ParallelConfig config, DigitList Axes::*axis) {
  const Engine& row = require_engine(engine);
  config = row.settled(model, config);
  const DeviceOrder order = engine_order(row, config);
  const Strategy strategy = build_strategy(model, config, StepForm::kDecode);
  const auto strides = device_axes(strategy.mesh, config, order);
  Groups out;
  for (std::int64_t stage = 0; stage < config.pp; ++stage) {
    for (const auto& ranks : strategy.mesh.groups(DigitSet(strategy.axes.*axis))) {
      std::vector<std::int64_t> devices;
      for (const int rank : ranks) {
        std::int64_t device = stage * stage_stride(config, order);
        for (std::size_t d = 0; d < strides.size(); ++d)
          device += strategy.mesh.coordinate(rank, static_cast<Digit>(d)) * strides[d].stride;
        devices.push_back(device);
      }
      out.push_back(devices);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

ParallelConfig moe(std::int64_t tp, std::int64_t dpa, std::int64_t ep, std::int64_t moe_tp, std::int64_t pp = 1) {
  ParallelConfig c = degrees(tp, pp, dpa);
  c.ep = ep;
  c.moe_tp = moe_tp;
  c.moe_dp = c.stage_ranks() / (ep * moe_tp);
  if (dpa > 1) c.variant.moe_comm = MoeComm::kAllGather;
  return c;
}

TEST_CASE("vLLM puts stages between data-parallel ranks and what is inside one") {
  const ModelSpec model = load_model("qwen3-235b-a22b");
  const ParallelConfig c = moe(2, 2, 4, 1, 2);
  CHECK(groups_of("vllm", model, c, &Axes::tp) == Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(groups_of("vllm", model, c, &Axes::dpa) == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(groups_of("vllm", model, c, &Axes::ep) == Groups{{0, 1, 4, 5}, {2, 3, 6, 7}});
  CHECK(stage_stride(c, DeviceOrder::kGroupMajor) == 2);  // stages of a rank: [0,2] [1,3] [4,6] [5,7]
  CHECK(groups_of("sglang", model, c, &Axes::ep) == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
}

TEST_CASE("The same tp8 ep4 has strided experts in SGLang and contiguous ones in TensorRT-LLM") {
  const ModelSpec model = load_model("qwen3-235b-a22b");
  const ParallelConfig c = moe(8, 1, 4, 2);
  CHECK(groups_of("sglang", model, c, &Axes::moe_tp) == Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(groups_of("sglang", model, c, &Axes::ep) == Groups{{0, 2, 4, 6}, {1, 3, 5, 7}});
  CHECK(groups_of("trtllm", model, c, &Axes::ep) == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(groups_of("trtllm", model, c, &Axes::moe_tp) == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(groups_of("sglang", model, moe(8, 1, 4, 1), &Axes::ep) == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});  // moe_dp 2
}

TEST_CASE("Helix ranks are the fastest in TensorRT-LLM") {
  ParallelConfig c = degrees(4, 2);
  c.dcp = 2;
  c.variant.helix = true;
  const ModelSpec model = load_model("llama-3.1-70b");
  CHECK(groups_of("trtllm", model, c, &Axes::heads) == Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}});
  CHECK(groups_of("trtllm", model, c, &Axes::cp) == Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
}

TEST_CASE("Extra layers go to the last stages in SGLang and to the first in TensorRT-LLM") {
  const auto sglang = require_engine("sglang").layer_split;
  const auto trt = require_engine("trtllm").layer_split;
  CHECK(sglang(61, 4) == Split{15, 15, 15, 16});
  CHECK(sglang(61, 8) == Split{7, 7, 7, 8, 8, 8, 8, 8});
  CHECK(sglang(80, 3) == Split{26, 27, 27});
  CHECK(sglang(94, 8) == Split{11, 11, 12, 12, 12, 12, 12, 12});
  CHECK(trt(61, 4) == Split{16, 15, 15, 15});
  CHECK(trt(61, 8) == Split{8, 8, 8, 8, 8, 7, 7, 7});
  CHECK(trt(80, 3) == Split{27, 27, 26});
  CHECK(trt(36, 8) == Split{5, 5, 5, 5, 4, 4, 4, 4});
}

// The engine's own examples on an H100 (81,559 MiB), without prefill graphs.
TEST_CASE("SGLang's reserved memory and static fraction") {
  SglangMemory m{.memory_mib = 81559, .gpus = 1, .chunk = 8192, .decode_graph = 256};
  CHECK(sglang_reserved_mib(m) == 13440);
  CHECK(sglang_memory_fraction(m) == Approx(0.835));
  m.gpus = 8;
  m.decode_graph = 512;
  CHECK(sglang_reserved_mib(m) == 14848);
  CHECK(sglang_memory_fraction(m) == Approx(0.818));
  m.attention_dp = 8;
  CHECK(sglang_reserved_mib(m) == 33280);
  CHECK(sglang_memory_fraction(m) == Approx(0.592));
}

TEST_CASE("One fraction has three meanings") {
  constexpr Bytes kDevice{100 * kGiB};
  const EngineMemory vllm{.memory_fraction_ratio = 0.9};
  CHECK(usable_bytes(vllm, kDevice) == Bytes(90 * kGiB));
  const EngineMemory trt{.memory_fraction_ratio = 0.9, .fraction_of = FractionOf::kLeft};
  CHECK(usable_bytes(trt, kDevice) == kDevice);
  // The cache of the same configuration under each: of all, of weights and cache, of what is left.
  const auto pool = [](const char* engine, double fraction) {
    PlanRequest request = request_for({.model = "llama-3.1-70b", .gpus = 4, .engine = engine});
    request.memory_fraction_ratio = fraction;
    const Plan plan = estimate_config(request, degrees(4), {}).plan;
    const StageLedger& stage = plan.ledger.stages.front();
    struct {
      double weights, activations, workspace, lasting, pool, device;
    } out{};
    const EngineMemory memory = memory_of(request, degrees(4));
    out = {static_cast<double>(stage.weights_bytes.value()),
           static_cast<double>(stage.activation_bytes.value()),
           static_cast<double>(stage.workspace_bytes.value()),
           static_cast<double>((memory.context + memory.communicators).value()),
           static_cast<double>(stage.kv_pool_bytes.value()),
           static_cast<double>(plan.ledger.device_bytes.value())};
    return out;
  };
  const auto v = pool("vllm", 0.8);
  CHECK(v.pool == Approx(0.8 * v.device - v.weights - v.activations - v.workspace));
  const auto s = pool("sglang", 0.8);
  CHECK(s.pool == Approx(0.8 * (s.device - s.lasting) - s.weights));
  const auto t = pool("trtllm", 0.8);
  CHECK(t.pool == Approx(0.8 * (t.device - t.weights - t.activations - t.lasting)));
}

TEST_CASE("Defaults of engines: blocks, seats and budgets") {
  const PlanRequest request = request_for({.model = "deepseek-v3"});
  const auto block = [&](const char* engine, const ModelSpec& model) {
    return require_engine(engine).memory(model, {}, request.hardware, "").block_size;
  };
  CHECK(block("sglang", load_model("llama-3.1-8b")) == 1);
  CHECK(block("sglang", load_model("deepseek-v3.2")) == 64);
  CHECK(block("trtllm", request.model) == 32);
  CHECK(block("rtp-llm", request.model) == 64);
  const auto sglang = require_engine("sglang").scheduler(request.model, degrees(8), request.hardware);
  CHECK(sglang.max_batched_tokens == 8192);
  CHECK(sglang.max_sequences == 512);
  CHECK(require_engine("sglang").scheduler(request.model, degrees(1, 1, 8), request.hardware).max_batched_tokens ==
        1024);
  CHECK(require_engine("trtllm").scheduler(request.model, {}, request.hardware).max_sequences == 2048);
  // RTP-LLM computes prompts whole: a step holds the longest.
  PlanRequest rtp = request_for({.engine = "rtp-llm", .isl = 50'000, .osl = 10});
  CHECK(scheduler_of(rtp, {}, 0).max_batched_tokens >= 50'000);
}

TEST_CASE("What each engine cannot do is refused by name") {
  const ModelSpec deepseek = load_model("deepseek-v3");
  const ModelSpec qwen = load_model("qwen3-235b-a22b");
  ParallelConfig helix = moe_degrees(8, 1, true);
  helix.dcp = 2;
  helix.variant.helix = true;
  CHECK(breaks_rule("sglang", deepseek, helix, "sglang_no_helix"));
  CHECK(breaks_rule("trtllm", deepseek, helix, "trtllm_helix_generation"));
  CHECK(breaks_rule("rtp-llm", deepseek, helix, "rtp_llm_no_dcp"));
  const HardwareProfile hardware = load_hardware("h200-sxm");
  CHECK(require_engine("trtllm").check(deepseek, helix, hardware, "", PoolRole::kDecode).empty());
  CHECK(breaks_rule("rtp-llm", qwen, moe(4, 1, 4, 1, 2), "rtp_llm_no_pp"));
  CHECK(breaks_rule("rtp-llm", qwen, moe(4, 2, 4, 2), "rtp_llm_ep_size"));
  CHECK(breaks_rule("rtp-llm", load_model("llama-4-maverick"), moe(8, 1, 8, 1), "rtp_llm_family"));
  CHECK(breaks_rule("trtllm", qwen, moe(2, 4, 8, 1), "trtllm_attention_dp"));
  CHECK(broken_rules("trtllm", qwen, moe(1, 8, 8, 1)).empty());
  CHECK(breaks_rule("trtllm", load_model("llama-3.1-70b"), degrees(1, 1, 8), "trtllm_dense_dp"));
  ParallelConfig dcp = moe_degrees(8, 1, true);
  dcp.dcp = 2;
  CHECK(breaks_rule("trtllm", deepseek, dcp, "trtllm_dcp_is_helix"));
  CHECK(broken_rules("sglang", deepseek, dcp).empty());
  ParallelConfig half = moe(2, 4, 4, 2);
  half.variant.moe_comm = MoeComm::kAllToAll;
  CHECK(breaks_rule("sglang", qwen, half, "sglang_a2a_forces_ep"));
  CHECK(breaks_rule("sglang", qwen, moe(8, 1, 2, 2), "sglang_moe_dp_ep"));
}

TEST_CASE("A version beyond what rules were read from is said, and what is none is refused") {
  PlanRequest request = request_for({.engine = "sglang"});
  const auto says = [&request](const char* version) {
    request.engine_version = version;
    const auto notes = notes_of(request);
    return std::any_of(notes.begin(), notes.end(),
                       [](const std::string& n) { return n.find("were read from") != std::string::npos; });
  };
  CHECK(!says(""));
  CHECK(!says("0.5.20"));
  CHECK(!says("0.5.12"));
  CHECK(says("0.4.9"));
  CHECK(says("0.7"));
  CHECK_THAT(message_of([&] { (void)says("latest"); }), contains_text("is no version"));
}

}  // namespace
}  // namespace shardplan
