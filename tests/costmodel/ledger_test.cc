#include "costmodel/ledger.h"

#include <algorithm>

#include "models/catalog.h"
#include "tests/catch.h"
#include "tests/costmodel/made_models.h"
#include "tests/costmodel/setup.h"

namespace shardplan {
namespace {

// One step of 8192 tokens and 256 decoding sequences, requests of 4096 tokens.
const MemoryDemand kDemand{
    .largest_step = {.decode_sequences = 256, .decode_context = 4096, .prefill_sequences = 1, .prefill_tokens = 8192},
    .request_tokens = 4096};

Ledger ledger_of(const ModelSpec& model, const ParallelConfig& config, const char* hardware = "h100-sxm") {
  return Setup(model, config, load_hardware(hardware)).ledger({}, kDemand);
}

Bytes item(const StageLedger& stage, const std::string& owner) {
  const auto it =
      std::find_if(stage.weights.begin(), stage.weights.end(), [&](const LedgerItem& i) { return i.owner == owner; });
  return it == stage.weights.end() ? Bytes(0) : it->bytes;
}

TEST_CASE("Llama-3.1-8B on one H100 holds its 8.03 billion parameters and 128 KiB of cache per token") {
  // Weights 8,030,261,248 * 2 B; K and V of 8 heads of 128 over 32 layers: 32*2*8*128*2.
  const Ledger ledger = ledger_of(load_model("llama-3.1-8b"), {});
  const StageLedger& stage = ledger.stages.front();
  CHECK(stage.weights_bytes == Bytes(8'030'261'248 * 2));
  CHECK(stage.kv_bytes_per_token == 131072);
  CHECK(ledger.fits);
  CHECK(stage.kv_pool_bytes ==
        ledger.capacity_bytes - stage.weights_bytes - stage.activation_bytes - stage.workspace_bytes);
  CHECK(ledger.kv_capacity_tokens == stage.kv_pool_bytes.value() / 131072 / 16 * 16);
}

TEST_CASE("TP halves weights and cache but for the norms") {
  const Ledger one = ledger_of(load_model("llama-3.1-8b"), {});
  const Ledger two = ledger_of(load_model("llama-3.1-8b"), {.tp = 2});
  const Bytes norms = item(one.stages.front(), "norms");
  CHECK(norms == Bytes(65 * 4096 * 2));
  CHECK(two.stages.front().weights_bytes == Bytes((one.stages.front().weights_bytes - norms).value() / 2) + norms);
  CHECK(two.kv_bytes_per_token == 65536);
}

TEST_CASE("Qwen3-235B's experts are an eighth at EP 8 and at MoE-TP 8, and one whole KV head stays at TP 8") {
  // 94 layers * 128 experts * 3*4096*1536 * 2 B / 8; cache 94*2*1*128*2 per token.
  const Ledger ep = ledger_of(load_model("qwen3-235b-a22b"), {.tp = 8, .ep = 8});
  const Ledger tp = ledger_of(load_model("qwen3-235b-a22b"), {.tp = 8, .moe_tp = 8});
  const Bytes experts(94LL * 128 * 3 * 4096 * 1536 * 2 / 8);
  CHECK(item(ep.stages.front(), "experts") == experts);
  CHECK(item(tp.stages.front(), "experts") == experts);
  CHECK(ep.kv_bytes_per_token == 94 * 2 * 128 * 2);
}

TEST_CASE("DCP 2 halves the cache of a replicated head, DPA 2 holds it in two groups") {
  const ModelSpec model = load_model("qwen3-235b-a22b");
  const double tp8 = ledger_of(model, {.tp = 8, .moe_tp = 8}).kv_bytes_per_token;
  CHECK(ledger_of(model, {.tp = 8, .dcp = 2, .moe_tp = 8}).kv_bytes_per_token == tp8 / 2);
  const Ledger dpa = ledger_of(model, {.dpa = 2, .tp = 4, .moe_tp = 8});
  CHECK(dpa.kv_bytes_per_token == tp8);
  CHECK(dpa.attention_groups == 2);
}

TEST_CASE("One request needs its length in one group, where context parallelism pools the cache") {
  ModelSpec model = made_model({.hidden = 1024,
                                .vocab = 32000,
                                .layers = 8,
                                .attention = grouped_attention(32, 4, 128),
                                .ffn = dense_ffn(4096)});
  const auto pooled = [&](const ParallelConfig& config) {
    Ledger ledger = ledger_of(model, config);
    ledger.stages.front().kv_pool_bytes = Bytes(1 * kGiB);
    return ledger;
  };
  const std::int64_t tokens = kGiB / (8 * 2 * 128 * 2);  // one KV head per rank
  const Ledger dpa = pooled({.dpa = 2, .tp = 4});
  const Ledger dcp = pooled({.tp = 8, .dcp = 2});
  CHECK(dpa.request_capacity(tokens) == 2);
  CHECK(dpa.request_capacity(2 * tokens) == 0);
  CHECK(dcp.request_capacity(tokens) == 2);
  CHECK(dcp.request_capacity(2 * tokens) == 1);
}

TEST_CASE("MLA's latent does not shrink with TP, and does with DCP") {
  const ModelSpec model = load_model("deepseek-v3");
  CHECK(ledger_of(model, {.tp = 8, .ep = 8}).kv_bytes_per_token == 61 * 576 * 2);
  CHECK(ledger_of(model, {.tp = 8, .dcp = 8, .ep = 8}).kv_bytes_per_token == 61 * 576 * 2 / 8.0);
}

TEST_CASE("The embedding is on the first stage and the head on the last, dense layers where they stand") {
  // 61 layers on 4 stages: 16, 15, 15, 15; the first three are dense.
  const Ledger ledger = ledger_of(load_model("deepseek-v3"), {.pp = 4, .tp = 8, .ep = 8}, "h200-sxm");
  REQUIRE(ledger.stages.size() == 4);
  for (std::size_t s = 0; s < 4; ++s) {
    const StageLedger& stage = ledger.stages[s];
    CHECK((item(stage, "embedding") > Bytes(0)) == (s == 0));
    CHECK((item(stage, "dense_ffn") > Bytes(0)) == (s == 0));
    CHECK((item(stage, "head") > Bytes(0)) == (s == 3));
    CHECK(stage.kv_bytes_per_token == static_cast<double>((s == 0 ? 16 : 15) * 576 * 2));
  }
  CHECK(item(ledger.stages[0], "embedding") == Bytes(129280LL * 7168 * 2 / 8));
  CHECK(item(ledger.stages[0], "experts") == Bytes(item(ledger.stages[1], "experts").value() / 15 * 13));
  CHECK(ledger.kv_bytes_per_token == 16 * 576 * 2);
}

TEST_CASE("A tied head is the embedding's table on one stage, and a copy on another") {
  ModelSpec model = made_model(
      {.hidden = 64, .vocab = 1000, .layers = 2, .attention = grouped_attention(4, 4, 16), .ffn = dense_ffn(128)});
  model.tied_embeddings = true;
  const Bytes table(1000 * 64 * 2);
  CHECK(ledger_of(model, {}).stages.front().weights_bytes.value() == weight_bytes(model).value());
  const Ledger two = ledger_of(model, {.pp = 2});
  CHECK(item(two.stages[0], "embedding") == table);
  CHECK(item(two.stages[1], "head") == table);
  CHECK(two.stages[0].weights_bytes + two.stages[1].weights_bytes == weight_bytes(model) + table);
}

TEST_CASE("Spare experts take their slots on every rank") {
  // 128 + 8 over 8 ranks: 17 slots for 16.
  const ModelSpec model = load_model("qwen3-235b-a22b");
  ParallelConfig config{.tp = 8, .ep = 8};
  const Bytes plain = item(ledger_of(model, config).stages.front(), "experts");
  config.variant.redundant_experts = 8;
  CHECK(item(ledger_of(model, config).stages.front(), "experts") == Bytes(plain.value() / 16 * 17));
}

void check_unsharded(const ModelSpec& model) {
  INFO(model.name);
  const auto held = static_cast<double>(ledger_of(model, {}).stages.front().weights_bytes.value());
  CHECK(held == Approx(static_cast<double>(weight_bytes(model).value())).epsilon(0.001));
}

TEST_CASE("Unsharded, the ledger of every published model agrees with its weight bytes") {
  for (const CatalogEntry& entry : model_catalog()) {
    check_unsharded(load_model(entry.name));
  }
}

TEST_CASE("What does not fit is told with its numbers") {
  const Ledger ledger = ledger_of(load_model("llama-3.1-405b"), {.tp = 8});
  CHECK_FALSE(ledger.fits);
  CHECK(ledger.stages.front().kv_pool_bytes == Bytes(0));
  CHECK(ledger.stages.front().missing_bytes > Bytes(0));
  for (const char* part : {"stage 0 needs 94.", "GiB for weights", "may be used", "too much"})
    CHECK(ledger.misfit.find(part) != std::string::npos);
}

TEST_CASE("A request that is longer than the cache is refused with the longest that fits") {
  MemoryDemand demand = kDemand;
  demand.request_tokens = 1'000'000;
  const Ledger ledger = Setup(load_model("llama-3.1-8b"), {}, load_hardware("h100-sxm")).ledger({}, demand);
  CHECK_FALSE(ledger.fits);
  CHECK(ledger.misfit.find("one request of 1000000 tokens") != std::string::npos);
  CHECK(ledger.misfit.find("(" + std::to_string(ledger.group_capacity_tokens) + " tokens)") != std::string::npos);
}

}  // namespace
}  // namespace shardplan
