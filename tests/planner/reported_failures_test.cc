// Configurations that people reported as failing, and what they should have used: verdict and suggestion out.
#include <fmt/format.h>

#include <algorithm>

#include "models/catalog.h"
#include "planner/cluster.h"
#include "planner/export/launch.h"
#include "tests/base/message_of.h"
#include "tests/catch.h"
#include "tests/planner/engine_cases.h"

namespace shardplan {
namespace {

struct Report {
  std::string what;
  const char* engine;
  ModelSpec model;
  ParallelConfig config;              // as reported
  std::string rule;                   // verdict; "": legal
  std::vector<ParallelConfig> right;  // what works instead
};

ParallelConfig sent(std::int64_t tp, std::int64_t dpa) {
  ParallelConfig c = moe_degrees(tp, dpa, true);
  c.variant.moe_comm = MoeComm::kAllToAll;
  return c;
}

ParallelConfig staged(ParallelConfig c, std::int64_t pp) {
  c.pp = pp;
  return c;
}

ParallelConfig with_redundant(ParallelConfig c, std::int64_t n) {
  c.variant.redundant_experts = n;
  return c;
}

ParallelConfig split_cache(ParallelConfig c, std::int64_t dcp) {
  c.dcp = dcp;
  return c;
}

ModelSpec with_expert_width(std::int64_t width) {
  ModelSpec model = with_weights("qwen3-30b-a3b", "fp8_block");
  for (LayerKind& kind : model.kinds) kind.ffn.intermediate = width;
  return model;
}

ModelSpec with_ffn(const char* format, std::int64_t width) {
  ModelSpec model = with_weights("llama-3.1-8b", format);
  for (LayerKind& kind : model.kinds) kind.ffn.intermediate = width;
  return model;
}

std::vector<Report> reports() {
  const ModelSpec deepseek = load_model("deepseek-v3");
  const ModelSpec qwen30 = with_weights("qwen3-30b-a3b", "fp8_block");
  const ModelSpec qwen235 = load_model("qwen3-235b-a22b");
  const ModelSpec minimax = load_model("minimax-m2.5");
  return {
      // vllm 2652, 414, 596, 4232, 5003, 11797: the largest divisor, the rest to stages or replicas.
      {"52 heads on TP 3", "vllm", with_heads(52, 4), degrees(3), "vllm_heads", {degrees(4), degrees(2)}},
      {"40 heads on TP 6", "vllm", with_heads(40, 8), degrees(6), "vllm_heads", {degrees(8), degrees(4, 2)}},
      {"28 heads on TP 8", "vllm", with_heads(28, 4), degrees(8), "vllm_heads", {degrees(4, 2), degrees(4)}},
      {"28 heads on TP 8", "sglang", with_heads(28, 4), degrees(8), "sglang_heads", {degrees(4, 2)}},
      {"28 heads on TP 8", "trtllm", with_heads(28, 4), degrees(8), "trtllm_heads", {degrees(4, 2)}},
      {"28 heads on TP 8", "rtp-llm", with_heads(28, 4), degrees(8), "rtp_llm_heads", {degrees(4)}},
      // 40 heads pass at TP 5; the padded vocabulary of 151,936 does not.
      {"Qwen3-14B TP5", "vllm", load_model("qwen3-14b"), degrees(5), "vllm_vocab", {degrees(4), degrees(8)}},
      // vllm 25292: 768/4 = 192.
      {"Qwen3-30B-A3B-FP8 TP4",
       "vllm",
       qwen30,
       moe_degrees(4, 1, false),
       "vllm_fp8_block_experts",
       {moe_degrees(2, 1, false), moe_degrees(4, 1, true)}},
      {"Qwen3-30B-A3B-FP8 TP4",
       "sglang",
       qwen30,
       moe_degrees(4, 1, false),
       "sglang_fp8_block_experts",
       {moe_degrees(2, 1, false), moe_degrees(4, 1, true)}},
      {"Qwen3-30B-A3B-FP8 TP4",
       "trtllm",
       qwen30,
       moe_degrees(4, 1, false),
       "trtllm_fp8_block_experts",
       {moe_degrees(2, 1, false), moe_degrees(4, 1, true)}},
      // vllm 48173, 39046: 1536/8 = 192.
      {"MiniMax-M2 FP8 TP8",
       "vllm",
       minimax,
       moe_degrees(8, 1, false),
       "vllm_fp8_block_experts",
       {moe_degrees(4, 1, false), moe_degrees(8, 1, true)}},
      {"MiniMax-M2 FP8 TP8",
       "sglang",
       minimax,
       moe_degrees(8, 1, false),
       "sglang_fp8_block_experts",
       {moe_degrees(4, 1, false), moe_degrees(8, 1, true)}},
      // vllm 54178: 640 = 5*128 is legal whole only.
      {"experts of 640 in FP8 blocks, TP8",
       "vllm",
       with_expert_width(640),
       moe_degrees(8, 1, false),
       "vllm_fp8_block_experts",
       {moe_degrees(8, 1, true), {}}},
      {"experts of 640 in FP8 blocks, TP2",
       "vllm",
       with_expert_width(640),
       moe_degrees(2, 1, false),
       "vllm_fp8_block_experts",
       {moe_degrees(2, 1, true)}},
      // sglang 3491, 4791, 3345, 6017, vllm 12256: dense 18432/32 = 576. Attention DP keeps dense layers whole.
      {"DeepSeek-V3 TP32",
       "sglang",
       deepseek,
       moe_degrees(32, 1, true),
       "sglang_fp8_block_dense",
       {moe_degrees(8, 1, true), staged(moe_degrees(16, 1, true), 2), sent(1, 32), sent(8, 4)}},
      {"DeepSeek-V3 TP32",
       "vllm",
       deepseek,
       moe_degrees(32, 1, true),
       "vllm_fp8_block_dense",
       {moe_degrees(16, 1, true), staged(moe_degrees(8, 1, true), 4)}},
      // sglang 10641: 2048/32 = 64.
      {"DeepSeek-V3 experts over TP32",
       "sglang",
       deepseek,
       moe_degrees(32, 1, false),
       "sglang_fp8_block_experts",
       {sent(1, 32)}},
      // vllm 41623, 49777: 4 KV heads.
      {"Qwen3-235B TP4 DCP2",
       "vllm",
       qwen235,
       split_cache(moe_degrees(4, 1, true), 2),
       "vllm_dcp_kv_heads",
       {split_cache(moe_degrees(8, 1, true), 2)}},
      // vllm 52435: kernels need equal shards.
      {"256 experts, ep 3",
       "sglang",
       deepseek,
       sent(1, 3),
       "sglang_ep_divides",
       {with_redundant(sent(1, 3), 2), sent(1, 4)}},
      {"256 experts, ep 3",
       "trtllm",
       deepseek,
       sent(1, 3),
       "trtllm_ep_divides",
       {with_redundant(sent(1, 3), 2), sent(1, 4)}},
      // vllm 9913, 17604: 7392 % 128 = 96.
      {"int4 groups, 14784 columns on TP2", "vllm", with_ffn("int4_g128", 14784), degrees(2), "vllm_marlin_dense", {}},
      {"int4 groups, 14336 columns on TP2", "vllm", with_ffn("int4_g128", 14336), degrees(2), "", {}},
      // TensorRT-LLM 5872: legal; what failed was memory.
      {"Qwen3-235B tp8 ep8", "trtllm", qwen235, moe_degrees(8, 1, true), "", {}},
      // vllm 46755: more ranks than KV heads is legal, heads are copied.
      {"TP 8 for 4 KV heads", "vllm", with_heads(32, 4), degrees(8), "", {}},
      // DCP vectors (q, kv, tp, dcp).
      {"(16,8,2,2)", "vllm", with_heads(16, 8), degrees(2, 1, 1, 2), "vllm_dcp_kv_heads", {}},
      {"(16,2,4,4)", "vllm", with_heads(16, 2), degrees(4, 1, 1, 4), "vllm_dcp_max", {degrees(4, 1, 1, 2)}},
      {"(6,2,6,2)", "vllm", with_heads(6, 2), degrees(6, 1, 1, 2), "vllm_dcp_query_groups", {}},
      {"(64,4,8,2)", "vllm", with_heads(64, 4), degrees(8, 1, 1, 2), "", {}},
      {"(64,8,8,2)", "vllm", with_heads(64, 8), degrees(8, 1, 1, 2), "vllm_dcp_kv_heads", {degrees(16, 1, 1, 2)}},
      {"(64,8,16,2)", "vllm", with_heads(64, 8), degrees(16, 1, 1, 2), "", {}},
      {"MLA tp8 dcp8", "vllm", deepseek, split_cache(moe_degrees(8, 1, true), 8), "", {}},
  };
}

TEST_CASE("Reported failures are refused by the rule that they broke, and what was right is legal") {
  for (const Report& report : reports()) {
    INFO(report.engine << ": " << report.what);
    const auto ids = broken_rules(report.engine, report.model, report.config);
    if (report.rule.empty())
      CHECK(ids == std::vector<std::string>{});
    else
      CHECK(std::find(ids.begin(), ids.end(), report.rule) != ids.end());
    for (const ParallelConfig& right : report.right) {
      INFO(short_text(right));
      CHECK(broken_rules(report.engine, report.model, right) == std::vector<std::string>{});
    }
  }
}

// vllm 2652 and kin, asked of the search: nothing wider than the largest divisor is planned.
TEST_CASE("28 heads on 8 GPUs are planned with TP 4 by every engine") {
  for (const char* engine : {"vllm", "sglang", "trtllm", "rtp-llm"}) {
    PlanRequest request = request_for({.engine = engine, .concurrency = 64});
    request.model = with_heads(28, 4);
    const PlanResult result = search_plans(request);
    INFO(engine);
    REQUIRE(!result.plans.empty());
    for (const Plan& plan : result.plans) CHECK(plan.config.tp <= 4);
  }
}

// vllm 52435 again: legal without EPLB, and worth a word.
TEST_CASE("Unequal shards of experts are warned about in vLLM") {
  const PlanRequest request = request_for({.model = "deepseek-v3", .engine = "vllm"});
  const auto warnings = request.engine->warnings(request.model, sent(1, 3), request.hardware, "");
  CHECK(std::any_of(warnings.begin(), warnings.end(),
                    [](const Violation& v) { return v.rule == "vllm_uneven_experts"; }));
}

Ledger ledger_of(const PlanRequest& request, const ParallelConfig& config) {
  const Cluster cluster(request, config.instance_gpus());
  return Deployment(request, config, {}, cluster.collectives()).ledger();
}

// vllm 34076: an uneven split costs cache on every stage.
TEST_CASE("Qwen3-30B over stages of 16 and 32 layers holds less than over equal stages") {
  PlanRequest request =
      request_for({.model = "qwen3-30b-a3b", .hardware = "l40s", .gpus = 2, .engine = "vllm", .isl = 262143, .osl = 1});
  ParallelConfig config = degrees(1, 2);
  const Ledger even = ledger_of(request, config);
  config.pp_layers = {16, 32};
  const Ledger uneven = ledger_of(request, config);
  CHECK(!uneven.fits);
  CHECK(uneven.group_capacity_tokens < even.group_capacity_tokens);
  CHECK(!uneven.misfit.empty());
}

// vllm 32105: one request of 202,752 tokens takes 71.16 GiB over all stages, an eighth or so of it on each of eight.
TEST_CASE("GLM-4.7's longest request is held stage by stage") {
  PlanRequest request = request_for({.model = "glm-4.7", .gpus = 8, .engine = "vllm", .isl = 202'751, .osl = 1});
  request.model = with_weights("glm-4.7", "fp8");
  const Ledger whole = ledger_of(request, degrees(1));
  CHECK(whole.cache_bytes(0, 202'752) / static_cast<double>(kGiB) == Catch::Detail::Approx(71.16).epsilon(0.001));
  const Ledger staged = ledger_of(request, degrees(1, 8));
  CHECK(staged.cache_bytes(3, 202'752) == whole.cache_bytes(0, 202'752) * 12 / 92);  // stages of 11 or 12 layers
  CHECK(staged.fits);
}

// vllm 39734: a request beyond the pool is refused, not left hanging; the context that fits is told.
TEST_CASE("A request that no block pool holds is a misfit with the length that is held") {
  PlanRequest request =
      request_for({.model = "llama-3.1-70b", .gpus = 2, .engine = "vllm", .isl = 2'000'000, .osl = 1});
  const Ledger ledger = ledger_of(request, degrees(2));
  CHECK(!ledger.fits);
  CHECK(ledger.group_capacity_tokens > 0);
  CHECK_THAT(ledger.misfit, contains_text("more cache"));
}

// vllm 13074, 17470: weights alone are 1.3 TB.
TEST_CASE("DeepSeek-R1 in BF16 is refused before it is launched") {
  PlanRequest request = request_for({.hardware = "h100-sxm", .gpus = 16, .engine = "vllm"});
  request.model = with_weights("deepseek-r1", "bf16");
  for (const ParallelConfig& config : {moe_degrees(16, 1, true), staged(moe_degrees(8, 1, true), 2)}) {
    const Ledger ledger = ledger_of(request, config);
    CHECK(!ledger.fits);
    CHECK(ledger.stages.front().weights_bytes > Bytes(75 * kGiB));
  }
}

// sglang 24453: graphs of wide attention DP take tens of GiB; the computed fraction leaves them room.
TEST_CASE("SGLang's static fraction falls with attention DP") {
  const PlanRequest request = request_for({.model = "kimi-k2", .gpus = 32, .engine = "sglang"});
  const auto fraction = [&request](const ParallelConfig& c) {
    return request.engine->memory(request.model, c, request.hardware, "").memory_fraction_ratio;
  };
  CHECK(fraction(sent(1, 32)) < fraction(sent(1, 8)));
  CHECK(fraction(sent(1, 8)) < fraction(moe_degrees(8, 1, true)));
}

// vllm 51429: a check that forgets the copies made by prefill context parallelism must not reach sparse latents, which
// can split their cache over those ranks; grouped heads cannot, whatever their number.
TEST_CASE("Sparse latents split their cache over prefill ranks, grouped heads do not") {
  ParallelConfig config = moe_degrees(4, 1, true);
  config.pcp = 2;
  config.dcp = 2;
  config.ep = 8;  // over both
  config.variant.moe_comm = MoeComm::kAllGather;
  CHECK(broken_rules("vllm", load_model("deepseek-v3.2"), config) == std::vector<std::string>{});
  const auto ids = broken_rules("vllm", load_model("qwen3-235b-a22b"), config);
  CHECK(std::find(ids.begin(), ids.end(), "vllm_dcp_over_pcp") != ids.end());
}

// vllm 45178, 50780: graphs are estimated before they are captured; the launch says how to pin the cache instead.
TEST_CASE("The launch of vLLM tells the cache to pin") {
  const PlanRequest request = request_for({.model = "llama-3.1-70b", .gpus = 4, .engine = "vllm"});
  const Plan plan = estimate_config(request, degrees(4), {}).plan;
  const Launch launch = export_plan(request, plan);
  const auto pool = fmt::format("--kv-cache-memory-bytes {} ", plan.ledger.stages.front().kv_pool_bytes.value());
  CHECK(std::any_of(launch.notes.begin(), launch.notes.end(),
                    [&pool](const std::string& note) { return note.starts_with(pool); }));
}

// vllm 20305: another process holds memory; the fraction that starts is what is free over all.
TEST_CASE("A fraction of memory that others hold is refused with the one that starts") {
  PlanRequest request = request_for({.hardware = "h100-sxm", .gpus = 1, .engine = "vllm"});
  request.memory_held = Bytes(20 * kGiB);  // of 79.19 GiB: 0.74 is free
  const Ledger ledger = ledger_of(request, degrees(1));
  CHECK(!ledger.fits);
  CHECK_THAT(ledger.misfit, contains_text("at most 0.74"));
  const PlanResult none = search_plans(request);
  REQUIRE(none.plans.empty());
  REQUIRE(!none.nearest_feasible.empty());
  CHECK_THAT(none.nearest_feasible.front(), contains_text("--memory-fraction 0.74"));
  request.memory_fraction_ratio = 0.74;
  CHECK(ledger_of(request, degrees(1)).fits);
  // Engines that claim a fraction of what is free start, with less cache.
  for (const char* engine : {"sglang", "trtllm"}) {
    CAPTURE(engine);
    PlanRequest other = request_for({.hardware = "h100-sxm", .gpus = 1, .engine = engine});
    const Ledger alone = ledger_of(other, degrees(1));
    other.memory_held = Bytes(20 * kGiB);
    const Ledger beside = ledger_of(other, degrees(1));
    CHECK(beside.fits);
    CHECK(beside.stages.front().kv_pool_bytes < alone.stages.front().kv_pool_bytes - Bytes(14 * kGiB));
  }
}

// gpustack 4769: 16 heads of the image tower on TP 6 or 12; text alone would run.
TEST_CASE("An image tower whose heads do not divide is held whole") {
  ModelSpec model = load_model("qwen3-vl-8b");
  model.vocab = 153'600;
  for (LayerKind& kind : model.kinds) kind.attention.q_heads = 24, kind.attention.kv_heads = 12;
  PlanRequest request = request_for({.gpus = 12, .engine = "vllm"});
  request.model = model;
  const auto warned = [&](std::int64_t tp) {
    const auto warnings = request.engine->warnings(model, degrees(tp), request.hardware, "");
    return std::any_of(warnings.begin(), warnings.end(),
                       [](const Violation& v) { return v.rule == "vllm_vision_heads"; });
  };
  CHECK(warned(12));
  CHECK(!warned(4));
  const auto tower = [&](std::int64_t tp) {
    const Ledger ledger = ledger_of(request, degrees(tp));
    const auto& items = ledger.stages.front().weights;
    const auto item =
        std::find_if(items.begin(), items.end(), [](const LedgerItem& i) { return i.owner == "vision tower"; });
    REQUIRE(item != items.end());
    return item->bytes.value();
  };
  CHECK(tower(12) == model.vision_parameters * 2);
  CHECK(tower(4) == model.vision_parameters / 2);
  const Plan plan = estimate_config(request, degrees(12), {}).plan;
  CHECK_THAT(export_plan(request, plan).files.front().content, contains_text("--mm-encoder-tp-mode data"));
}

}  // namespace
}  // namespace shardplan
