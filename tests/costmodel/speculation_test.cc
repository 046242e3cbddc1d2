// Speculation in the step graph: what the MTP modules weigh, cache and cost, and what verifying costs.
#include "costmodel/speculation.h"

#include "costmodel/symbol.h"
#include "hwprofiles/profile.h"
#include "models/catalog.h"
#include "tests/catch.h"
#include "tests/costmodel/setup.h"

namespace shardplan {
namespace {

ParallelConfig drafting(std::int64_t drafts, ParallelConfig config = {}) {
  config.variant.speculative_tokens = drafts;
  return config;
}

Ledger ledger_of(const ModelSpec& model, const ParallelConfig& config) {
  const Setup setup(model, config, load_hardware("h200-sxm"));
  return setup.ledger({.block_size = 1}, {.largest_step = {.decode_sequences = 8,
                                                           .decode_context = 64,
                                                           .decode_tokens = 1 + config.variant.speculative_tokens},
                                          .request_tokens = 64});
}

double draft_bytes(const StageLedger& stage) {
  for (const LedgerItem& item : stage.weights) {
    if (item.owner == "draft") return static_cast<double>(item.bytes.value());
  }
  return 0;
}

TEST_CASE("Tokens of a step: 1 + A + ... + A^k, and the acceptance that gives them back") {
  CHECK(tokens_per_step(0, 0.9) == 1);
  CHECK(tokens_per_step(3, 0) == 1);
  CHECK(tokens_per_step(3, 1) == 4);
  CHECK(tokens_per_step(3, 0.8) == Approx((1 - 0.8 * 0.8 * 0.8 * 0.8) / (1 - 0.8)));
  for (const double a : {0.1, 0.5, 0.93})
    CHECK(break_even_acceptance(3, tokens_per_step(3, a)).value() == Approx(a).epsilon(1e-6));
  CHECK_FALSE(break_even_acceptance(2, 3.01));
  CHECK(break_even_acceptance(2, 0.9).value() == Approx(0).margin(1e-9));
}

// 671.03e9 parameters without MTP. The module holds a layer of 256 experts, a projection of 14,336 x 7,168 and three
// norms; the checkpoint's 685e9 count its copies of both tables too, which engines share.
TEST_CASE("DeepSeek-V3: the published 685e9 are the model, its MTP module and two more tables") {
  const ModelSpec model = load_model("deepseek-v3");
  const double plain = static_cast<double>(count_parameters(model).total());
  const double module = static_cast<double>(count_mtp_parameters(model));
  const double tables = 2.0 * 129'280 * 7'168;
  CHECK(plain / 1e9 == Approx(671.03).epsilon(1e-4));
  CHECK((plain + module + tables) / 1e9 == Approx(685).epsilon(0.002));
}

TEST_CASE("The graphs of one rank hold the module's bytes as the model counts them, and one layer's cache more") {
  for (const char* name : {"deepseek-v3", "deepseek-v3.2", "glm-5", "mimo-7b", "qwen3.5-397b-a17b",
                           "nemotron-3-super-120b-a12b", "step-3.7-flash"}) {
    INFO(name);
    const ModelSpec model = load_model(name);
    const Ledger without = ledger_of(model, {});
    const Ledger with = ledger_of(model, drafting(model.mtp_modules));
    CHECK(draft_bytes(with.stages[0]) == Approx(static_cast<double>(mtp_weight_bytes(model).value())).epsilon(1e-6));
    CHECK((with.stages[0].weights_bytes - without.stages[0].weights_bytes).value() ==
          Approx(draft_bytes(with.stages[0])).margin(64));
    const double more = static_cast<double>(mtp_cache_bytes_per_token(model, *model.kv_format).value());
    CHECK(with.kv_bytes_per_token - without.kv_bytes_per_token == Approx(more).epsilon(1e-6));
  }
}

TEST_CASE(
    "No more modules are loaded than draft, and the last stage of a pipeline holds them with an embedding of their "
    "own") {
  const ModelSpec three = load_model("step-3.7-flash");
  REQUIRE(three.mtp_modules == 3);
  CHECK(draft_bytes(ledger_of(three, drafting(1)).stages[0]) ==
        Approx(draft_bytes(ledger_of(three, drafting(3)).stages[0]) / 3).epsilon(1e-6));
  const ModelSpec v3 = load_model("deepseek-v3");
  const Ledger piped = ledger_of(v3, drafting(1, {.pp = 2, .tp = 8, .moe_tp = 8}));
  const Ledger whole = ledger_of(v3, drafting(1, {.tp = 8, .moe_tp = 8}));
  CHECK(draft_bytes(piped.stages[0]) == 0);
  CHECK(draft_bytes(piped.stages[1]) - draft_bytes(whole.stages[0]) == Approx(129'280.0 / 8 * 7'168 * 2).epsilon(1e-6));
}

TEST_CASE("Where embedding and head are one table, the last stage drafts with the head's") {
  ModelSpec tied = load_model("mimo-7b");
  tied.tied_embeddings = true;
  const auto last = [&](std::int64_t pp) { return draft_bytes(ledger_of(tied, drafting(1, {.pp = pp})).stages.back()); };
  CHECK(last(2) == last(1));
}

TEST_CASE("A recurrent state is kept behind each token that may be refused") {
  const ModelSpec model = load_model("qwen3.5-397b-a17b");
  const auto state = [&](std::int64_t drafts) {
    const Ledger ledger = ledger_of(model, drafting(drafts));
    double bytes = 0;
    for (const Ledger::CacheTerm& term : ledger.cache_terms[0])
      bytes += term.bytes_per_request;
    return bytes;
  };
  CHECK(state(0) == Approx(static_cast<double>(state_bytes_per_request(model).value())));
  CHECK(state(3) == Approx(4 * state(0)));
}

// Attention over K+1 tokens of a sequence: their pairs are computed one by one, the cache is read once.
TEST_CASE("Verifying reads each cache once and computes every token") {
  const ModelSpec model = load_model("deepseek-v3");
  const BatchShape plain{.decode_sequences = 4, .decode_context = 1000};
  const BatchShape wide = verifying(plain, 3);
  CHECK(wide.tokens() == 16);
  CHECK(wide.decode_context == 1003);
  const StepBreakdown one = Setup(model, {}, load_hardware("h200-sxm")).breakdown(plain);
  const StepBreakdown four = Setup(model, drafting(3), load_hardware("h200-sxm")).breakdown(wide);
  // Two kinds of layers have a row each: the first is the dense layers'.
  const auto row = [](const StepBreakdown& step, const std::string& name) {
    for (const OpRow& op : step.ops) {
      if (op.name == name) return op;
    }
    FAIL("no row " << name);
    return OpRow{};
  };
  CHECK(row(four, "attention_decode").kv_bytes == Approx(row(one, "attention_decode").kv_bytes * 1003 / 1000));
  CHECK(row(four, "attention_decode").flops.value() ==
        Approx(row(one, "attention_decode").flops.value() / 1000 * (1003 + 1002 + 1001 + 1000)));
  CHECK(row(four, "gate_up").flops.value() == Approx(4 * row(one, "gate_up").flops.value()));
  CHECK(row(four, "lm_head").flops.value() == Approx(4 * row(one, "lm_head").flops.value()));
  // One module: its first pass takes the step's 16 tokens, two more one token of each sequence; heads one token each.
  double passes = 0;
  double heads = 0;
  for (const OpRow& op : four.ops) {
    if (op.name == "draft_eh_proj") passes += op.flops.value() * static_cast<double>(op.count);
    if (op.name == "draft_lm_head") heads += op.flops.value() * static_cast<double>(op.count);
  }
  CHECK(passes == Approx(2.0 * 14'336 * 7'168 * (16 + 2 * 4)));
  CHECK(heads == Approx(2.0 * 129'280 * 7'168 * 4 * 3));
}

TEST_CASE("Windows are read once for all tokens of a sequence, chosen positions for each") {
  Symbol window{.kind = SymbolKind::kDecodePositions, .window = 128};
  const BatchShape wide = verifying({.decode_sequences = 1, .decode_context = 1000}, 3);
  CHECK(evaluate(window, wide) == 131);
  window.kind = SymbolKind::kDecodePairs;
  CHECK(evaluate(window, wide) == 4 * 128);
  const ModelSpec sparse = load_model("deepseek-v3.2");
  const StepBreakdown step = Setup(sparse, drafting(1), load_hardware("h200-sxm"))
                                 .breakdown(verifying({.decode_sequences = 1, .decode_context = 100'000}, 1));
  for (const OpRow& op : step.ops) {
    if (op.name == "attention_decode")
      CHECK(op.kv_bytes == Approx(2 * 2048 * 576 * 2).epsilon(0.15));  // fp8_ds_mla or bf16 rows
  }
}

// Published: 1.08, 1.15, 1.24, 1.35, 1.40 of a plain step for 1 to 5 drafts (DeepSeek-R1, nvfp4, eight B200, one
// request, attention by tensor and experts by expert parallelism).
TEST_CASE("A step with drafts costs what was published at one request") {
  ModelSpec model = load_model("deepseek-r1");
  override_weight_format(model, *find_format("nvfp4"));
  const ParallelConfig config{.tp = 8, .moe_tp = 2, .ep = 4};
  const BatchShape plain{.decode_sequences = 1, .decode_context = 2048};
  const double one =
      Setup(model, config, load_hardware("b200-sxm"), PriceMode::kCalibrated).step(plain).seconds.value();
  const double published[] = {1.08, 1.15, 1.24, 1.35, 1.40};
  double before = 1;
  for (std::int64_t k = 1; k <= 5; ++k) {
    const Setup setup(model, drafting(k, config), load_hardware("b200-sxm"), PriceMode::kCalibrated);
    const double ratio = setup.step(verifying(plain, k)).seconds.value() / one;
    UNSCOPED_INFO(k << " drafts: " << ratio);
    CHECK(ratio > before);
    CHECK(ratio == Approx(published[k - 1]).epsilon(0.07));
    before = ratio;
  }
}

TEST_CASE("A configuration that drafts prices verified steps alone") {
  const Setup setup(load_model("deepseek-v3"), drafting(2, {.tp = 8, .moe_tp = 8}), load_hardware("h200-sxm"));
  CHECK_THROWS(setup.step({.decode_sequences = 1, .decode_context = 100}));
  CHECK(setup.pricer().draft_layers(verifying({.decode_sequences = 1, .decode_context = 100}, 2)) == 2);
  CHECK(setup.pricer().draft_layers({.prefill_sequences = 1, .prefill_tokens = 8}) == 1);  // fills its cache
}

}  // namespace
}  // namespace shardplan
