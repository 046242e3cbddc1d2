// vLLM's rules against the engine's own examples and the issue trackers' cases.
#include <algorithm>

#include "models/catalog.h"
#include "planner/deployment.h"
#include "tests/base/message_of.h"
#include "tests/catch.h"
#include "tests/planner/engine_cases.h"

namespace shardplan {
namespace {

std::vector<std::string> broken(const ModelSpec& model, const ParallelConfig& config, const std::string& version = "") {
  return broken_rules("vllm", model, config, version);
}

bool breaks(const ModelSpec& model, const ParallelConfig& config, const std::string& rule, const std::string& version = "") {
  return breaks_rule("vllm", model, config, rule, version);
}

ModelSpec in_fp8_blocks(const char* name) { return with_weights(name, "fp8_block"); }

TEST_CASE("Heads that do not divide are told in vLLM's words") {
  PlanRequest request = request_for({.engine = "vllm"});
  request.model = with_heads(52, 4);
  const auto violations = violations_of(request, degrees(3));
  REQUIRE(!violations.empty());
  const bool told = std::any_of(violations.begin(), violations.end(), [](const Violation& v) {
    return v.message == "Total number of attention heads (52) must be divisible by tensor parallel size (3).";
  });
  CHECK(told);
}

// issues 2652 and kin: 28 heads on 8 GPUs go as TP4 with PP2 or as two replicas of TP4.
TEST_CASE("28 heads on 8 GPUs are planned as TP 4 at most") {
  PlanRequest request = request_for({.engine = "vllm", .concurrency = 64});
  request.model = with_heads(28, 4);
  const PlanResult result = search_plans(request);
  REQUIRE(!result.plans.empty());
  for (const Plan& plan : result.plans) CHECK(plan.config.tp <= 4);
  CHECK(breaks(request.model, degrees(8), "vllm_heads"));
  CHECK(broken(request.model, degrees(4, 2)).empty());
}

// issue 25292: 768/4 = 192 is no multiple of 128; TP2, or TP4 with -ep, is right.
TEST_CASE("Qwen3-30B-A3B in FP8 blocks runs at TP2 or with whole experts") {
  const ModelSpec model = in_fp8_blocks("qwen3-30b-a3b");
  CHECK(breaks(model, moe_degrees(4, 1, false), "vllm_fp8_block_experts"));
  CHECK(broken(model, moe_degrees(2, 1, false)).empty());
  CHECK(broken(model, moe_degrees(4, 1, true)).empty());
}

// PR 48173, issue 39046: 1536/8 = 192.
TEST_CASE("MiniMax-M2 in FP8 runs at TP4, or at TP8 with whole experts") {
  const ModelSpec model = load_model("minimax-m2.5");
  CHECK(breaks(model, moe_degrees(8, 1, false), "vllm_fp8_block_experts"));
  CHECK(broken(model, moe_degrees(4, 1, false)).empty());
  CHECK(broken(model, moe_degrees(8, 1, true)).empty());
}

// sglang issue 3491 and kin: dense 18432/32 = 576 and shared 2048/32 = 64 are unaligned; TP8 or TP16 is right.
TEST_CASE("DeepSeek-V3 at TP32 cuts its FP8 blocks") {
  const ModelSpec model = load_model("deepseek-v3");
  const ParallelConfig wide = moe_degrees(32, 1, true);
  CHECK(breaks(model, wide, "vllm_fp8_block_dense"));
  CHECK(breaks(model, wide, "vllm_fp8_block_shared"));
  CHECK(broken(model, moe_degrees(8, 1, true)).empty());
  CHECK(broken(model, moe_degrees(16, 1, true)).empty());
}

// issue 54178: experts of 640 columns; 320, 160 and 80 are illegal, 640 = 5*128 is legal whole.
TEST_CASE("Experts of 640 columns in FP8 blocks stay whole") {
  ModelSpec model = in_fp8_blocks("qwen3-30b-a3b");
  for (LayerKind& kind : model.kinds) kind.ffn.intermediate = 640;
  for (const std::int64_t tp : {2, 4, 8}) {
    CHECK(breaks(model, moe_degrees(tp, 1, false), "vllm_fp8_block_experts"));
    CHECK(!breaks(model, moe_degrees(tp, 1, true), "vllm_fp8_block_experts"));
  }
  CHECK(!breaks(model, {}, "vllm_fp8_block_experts"));
}

TEST_CASE("int4 shards keep Marlin's tiles") {
  ModelSpec model = load_model("llama-3.1-8b");
  override_weight_format(model, *find_format("int4_g128"));
  for (LayerKind& kind : model.kinds) kind.ffn.intermediate = 7392 * 2;
  CHECK(breaks(model, degrees(2), "vllm_marlin_dense"));  // 7392 % 128 = 96
}

// The DCP vectors: (query heads, KV heads, tp, dcp).
TEST_CASE("Decode context parallelism takes only the ranks that copy a KV head") {
  const auto ok = [](std::int64_t q, std::int64_t kv, std::int64_t tp, std::int64_t dcp) {
    return broken(with_heads(q, kv), degrees(tp, 1, 1, dcp)).empty();
  };
  CHECK(!ok(16, 8, 2, 2));
  CHECK(!ok(16, 2, 4, 4));
  CHECK(!ok(6, 2, 6, 2));
  CHECK(ok(64, 4, 8, 2));
  CHECK(!ok(64, 8, 8, 2));
  CHECK(ok(64, 8, 16, 2));
}

TEST_CASE("MLA takes dcp up to tp, sliding windows refuse it") {
  const ModelSpec deepseek = load_model("deepseek-v3");
  ParallelConfig config = moe_degrees(8, 1, true);
  config.dcp = 8;
  CHECK(broken(deepseek, config).empty());
  ParallelConfig windowed = moe_degrees(8, 1, true);
  windowed.tp = 16;
  windowed.ep = 16;
  windowed.dcp = 2;
  CHECK(breaks(load_model("gpt-oss-120b"), windowed, "vllm_dcp_window"));
}

// issue 41623, PR 49777: Qwen3-235B has 4 KV heads: TP4 has no copies, TP8 has two.
TEST_CASE("Qwen3-235B splits its cache at TP8, not at TP4") {
  const ModelSpec model = load_model("qwen3-235b-a22b");
  ParallelConfig config = moe_degrees(4, 1, true);
  config.dcp = 2;
  CHECK(breaks(model, config, "vllm_dcp_kv_heads"));
  config = moe_degrees(8, 1, true);
  config.dcp = 2;
  CHECK(broken(model, config).empty());
}

TEST_CASE("The expert parallel size is the whole stage or one") {
  const ModelSpec model = load_model("qwen3-235b-a22b");
  ParallelConfig config = moe_degrees(8, 1, true);
  config.ep = 4;
  config.moe_tp = 2;
  CHECK(breaks(model, config, "vllm_ep_size"));
  config = moe_degrees(4, 2, true);
  CHECK(broken(model, config).empty());
  config.variant.moe_comm = MoeComm::kReplicated;
  CHECK(breaks(model, config, "vllm_dp_needs_all2all"));
  config = moe_degrees(8, 1, true);
  config.variant.moe_comm = MoeComm::kAllToAll;
  CHECK(breaks(model, config, "vllm_all2all_needs_dp"));
}

TEST_CASE("A dense model's dp ranks are replicas, not attention groups") {
  CHECK(breaks(load_model("llama-3.1-70b"), degrees(4, 1, 2), "vllm_dense_dp"));
}

TEST_CASE("Prefill context parallelism is for MLA, without stages, gathered in zigzag order") {
  ParallelConfig config = degrees(4);
  config.pcp = 2;
  CHECK(breaks(load_model("llama-3.1-70b"), config, "vllm_pcp_mla"));
  const ModelSpec deepseek = load_model("deepseek-v3");
  config = degrees(4);
  config.pcp = 2;
  config.ep = 8;
  config.variant.moe_comm = MoeComm::kAllGather;
  CHECK(broken(deepseek, config).empty());
  config.pp = 2;
  CHECK(breaks(deepseek, config, "vllm_pcp_pp"));
  config.pp = 1;
  config.variant.pcp_comm = PcpComm::kRing;
  CHECK(breaks(deepseek, config, "vllm_pcp_all_gather"));
  config.variant.pcp_comm = PcpComm::kAllGather;
  config.dpa = 2;
  config.ep = 16;
  CHECK(breaks(deepseek, config, "vllm_pcp_dp", "0.30"));
  CHECK(!breaks(deepseek, config, "vllm_pcp_dp", "0.31"));
}

TEST_CASE("Helix and HOP-B are not in vLLM, the message names what is near") {
  const ModelSpec deepseek = load_model("deepseek-v3");
  ParallelConfig config = moe_degrees(8, 1, true);
  config.dcp = 2;
  config.variant.helix = true;
  CHECK(breaks(deepseek, config, "vllm_no_helix"));
  config.variant.hop_b = 2;
  CHECK(breaks(deepseek, config, "vllm_no_hop_b"));
}

// TP6 passes no vocabulary that 6 does not divide: 151936 fails, 128256 = 6 * 21376 passes.
TEST_CASE("The padded vocabulary divides by tp") {
  ModelSpec model = with_heads(48, 6);
  model.vocab = 151936;
  CHECK(breaks(model, degrees(6), "vllm_vocab"));
  model.vocab = 128256;
  CHECK(!breaks(model, degrees(6), "vllm_vocab"));
  model = with_heads(40, 5);
  model.vocab = 151936;
  CHECK(breaks(model, degrees(5), "vllm_vocab"));  // TP5 for 40 heads passes the head rule and fails here
}

// issue 52435: 256 experts over 3 ranks, or 258 slots.
TEST_CASE("Redundant experts divide by ep and need it") {
  const ModelSpec deepseek = load_model("deepseek-v3");
  ParallelConfig config = moe_degrees(1, 3, true);
  config.variant.redundant_experts = 2;
  CHECK(!breaks(deepseek, config, "vllm_eplb_divides"));
  config.variant.redundant_experts = 1;
  CHECK(breaks(deepseek, config, "vllm_eplb_divides"));
  config = moe_degrees(8, 1, false);
  config.variant.redundant_experts = 8;
  CHECK(breaks(deepseek, config, "vllm_eplb_needs_ep"));
}

TEST_CASE("Tensor parallelism beyond a node is legal and warned about") {
  const PlanRequest request = request_for({.model = "llama-3.1-405b", .gpus = 16, .engine = "vllm"});
  CHECK(violations_of(request, degrees(16)).empty());
  const auto warnings = request.engine->warnings(request.model, degrees(16), request.hardware, "");
  REQUIRE(warnings.size() == 1);
  CHECK(warnings.front().rule == "vllm_tp_across_nodes");
}

}  // namespace
}  // namespace shardplan
