// Tokens beyond an expert's capacity are dropped alike by every sharding, and as the plain layer drops them.
#include <algorithm>
#include <cmath>
#include <map>

#include "calibrate/check/breakage.h"
#include "calibrate/kernels/moe.h"
#include "calibrate/proof.h"
#include "calibrate/reference/plain_layer.h"
#include "calibrate/small_models.h"
#include "calibrate/token_id.h"
#include "costmodel/expert_capacity.h"
#include "costmodel/expert_load.h"
#include "costmodel/lower.h"
#include "costmodel/lowering/registry.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

StepGraph layer_of(const ModelSpec& model, const ParallelConfig& config, StepForm form) {
  const NumberFormat* bf16 = find_format("bf16");
  return lower(layer_graph(model, model.kinds.front(), form, {bf16, bf16, nullptr}),
               build_strategy(model, config, form), form);
}

ParallelConfig with_factor(ParallelConfig config, double factor) {
  config.variant.capacity_factor_ratio = factor;
  return config;
}

struct Picks {
  LocalArray kept;
  LocalArray out;
};

Picks one_rank(const ModelSpec& model, double factor, StepForm form, const RaggedBatch& batch) {
  const StepGraph graph = layer_of(model, with_factor({}, factor), form);
  Executor executor(1, 1, {.seed = 5, .invent_prefix = true});
  const RunResult run = executor.run({{{{&graph, 0}}}}, batch);
  const auto& values = run.graphs[0].values[0];
  Picks picks{.kept = {}, .out = values[static_cast<std::size_t>(graph.residual_out)]};
  for (const Node& node : graph.nodes) {
    if (graph.op_of(node).kind == OpKind::kAdmit) picks.kept = values[static_cast<std::size_t>(node.outputs[0])];
  }
  return picks;
}

std::int64_t refused(const LocalArray& routing) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < routing.values.size(); i += kRoutingWidth)
    count += routing.values[i] == static_cast<float>(kNoExpert) ? 1 : 0;
  return count;
}

// Two prompts: 20 tokens that pick 2 of 8 experts.
RaggedBatch prompts() { return prefill_batch({{0, 13}, {5, 7}}); }
RaggedBatch decodes() { return decode_batch({7, 1, 12, 3, 20, 4, 9, 2, 15, 6, 11, 5}); }

TEST_CASE("the third token that picks an expert with two places is refused, by the order of tokens and not of rows") {
  const ExpertsOp op{.experts = 2, .per_token = 1, .capacity_factor_ratio = 1};
  LocalArray routing(
      LocalDims{{Dim::kTokens, {token_id(1, 0), token_id(0, 3), token_id(0, 1), token_id(0, 2)}}, {Dim::kRouted, {0}}},
      kRoutingWidth);
  routing.values = {0, 0.9F, 0, 0.8F, 0, 0.7F, 1, 0.6F};  // three pick expert 0: tokens (0, 1), (0, 3) and (1, 0)
  LocalArray out = routing;
  admit(routing, {.capacity_factor_ratio = 1}, op, nullptr, out);
  CHECK(out.values == std::vector<float>{-1, 0, 0, 0.8F, 0, 0.7F, 1, 0.6F});
  admit(routing, {.capacity_factor_ratio = 1, .last_first = true}, op, nullptr, out);
  CHECK(out.values == std::vector<float>{0, 0.9F, 0, 0.8F, -1, 0, 1, 0.6F});
  // Request 1 shares no experts with request 0: three tokens have two places, one has one.
  const TokenGroups groups{{token_id(1, 0), 1}, {token_id(0, 3), 0}, {token_id(0, 1), 0}, {token_id(0, 2), 0}};
  admit(routing, {.capacity_factor_ratio = 1}, op, &groups, out);
  CHECK(out.values == routing.values);
}

TEST_CASE("the run on one rank drops what the plain layer drops") {
  for (const ModelSpec& model : {small_moe(), small_biased()}) {
    const std::size_t kind = model.kinds.front().ffn.kind == FfnKind::kMoe ? 0 : 1;
    ModelSpec routed = model;
    routed.kinds = {model.kinds[kind]};
    routed.layers = {0};
    for (const double factor : {0.5, 1.0, 1.25}) {
      const std::int64_t capacity = expert_capacity(20, 2, 8, factor);
      const Picks got = one_rank(routed, factor, StepForm::kPrefill, prompts());
      CHECK(refused(got.kept) > 0);
      const PlainRows want = plain_layer(
          {.model = routed, .kind = routed.kinds[0], .batch = prompts(), .seed = 5, .expert_capacity = capacity});
      double worst = 0;
      for (std::size_t t = 0; t < got.out.ids(Dim::kTokens).size(); ++t) {
        const Vector& row = want.at(got.out.ids(Dim::kTokens)[t]);
        for (std::size_t c = 0; c < row.size(); ++c) {
          worst = std::max(worst, std::abs(static_cast<double>(got.out.values[t * row.size() + c]) - row[c]) /
                                      (1 + std::abs(row[c])));
        }
      }
      CHECK(worst < 2e-6);
    }
  }
}

TEST_CASE("room for every token is no capacity factor at all") {
  const ModelSpec model = small_moe();
  const Picks roomy = one_rank(model, 4, StepForm::kPrefill, prompts());  // E/k
  CHECK(refused(roomy.kept) == 0);
  CHECK(roomy.out.values == one_rank(model, 0, StepForm::kPrefill, prompts()).out.values);
  CHECK(roomy.out.values != one_rank(model, 0.5, StepForm::kPrefill, prompts()).out.values);
  // Every expert keeps as many picks as it has places.
  std::map<float, std::int64_t> taken;
  const LocalArray kept = one_rank(model, 0.5, StepForm::kPrefill, prompts()).kept;
  for (std::size_t i = 0; i < kept.values.size(); i += kRoutingWidth) ++taken[kept.values[i]];
  for (const auto& [expert, count] : taken) CHECK((expert < 0 || count <= expert_capacity(20, 2, 8, 0.5)));
}

// The router of this layer picks some experts more often than others; tokens pick independently of one another.
TEST_CASE("as many picks are refused as the law of popular experts expects") {
  const ModelSpec model = small_moe();
  const RaggedBatch batch = prefill_batch({{0, 400}, {0, 400}});
  ExpertLoad seen{.kind = ExpertLoad::Kind::kHistogram, .exponent_ratio = 0, .counts = std::vector<double>(8, 0.0)};
  const Picks all = one_rank(model, 4, StepForm::kPrefill, batch);
  for (std::size_t i = 0; i < all.kept.values.size(); i += kRoutingWidth)
    ++seen.counts[static_cast<std::size_t>(all.kept.values[i])];
  CHECK(*std::max_element(seen.counts.begin(), seen.counts.end()) > 1.2 * 200);
  for (const double factor : {0.5, 0.8, 1.0, 1.25}) {
    const double dropped = static_cast<double>(refused(one_rank(model, factor, StepForm::kPrefill, batch).kept)) / 1600;
    CHECK(ExpertLoadModel(seen, 8, 2, 1, 0, factor).dropped_ratio(800) == Approx(dropped).margin(0.012));
  }
}

TEST_CASE("every way to meet experts drops the same tokens, bytes as counted") {
  for (const MoeComm comm : {MoeComm::kReplicated, MoeComm::kAllGather, MoeComm::kAllToAll}) {
    const Variant variant{.moe_comm = comm};
    for (const ParallelConfig& config :
         {ParallelConfig{.tp = 4, .ep = 4, .variant = variant}, ParallelConfig{.dpa = 8, .ep = 8, .variant = variant},
          ParallelConfig{.dpa = 4, .ep = 2, .moe_dp = 2, .variant = variant},
          ParallelConfig{.dpa = 2, .tp = 2, .moe_tp = 2, .ep = 2, .variant = variant}}) {
      for (const double factor : {0.5, 1.25}) {
        for (const StepForm form : {StepForm::kDecode, StepForm::kPrefill}) {
          Proof proof(small_moe(), with_factor(config, factor), {.seed = 5, .kind = 0});
          INFO(short_text(with_factor(config, factor)) << " " << form_name(form));
          const ProofResult result = proof.step(form, form == StepForm::kDecode ? decodes() : prompts());
          CHECK(result.values.worst_error_ratio < kProofTolerance);
          CHECK(result.bytes.mismatches.empty());
        }
      }
    }
  }
}

TEST_CASE("a rank that ignores its experts' capacity, or drops other tokens, is noticed") {
  for (const BreakageKind& kind : breakage_kinds()) {
    const std::string name = kind.name;
    if (name != "ignore_capacity" && name != "drop_first") continue;
    const auto tamper = kind.make();
    for (const MoeComm comm : {MoeComm::kReplicated, MoeComm::kAllGather, MoeComm::kAllToAll}) {
      const ParallelConfig config = comm == MoeComm::kReplicated
                                        ? ParallelConfig{.tp = 4, .ep = 4}
                                        : ParallelConfig{.dpa = 4, .ep = 4, .variant = {.moe_comm = comm}};
      INFO(name << " " << short_text(config));
      const auto noticed = [&](double factor) {
        const StepGraph sharded = layer_of(small_moe(), with_factor(config, factor), StepForm::kPrefill);
        const StepGraph whole = layer_of(small_moe(), with_factor({}, factor), StepForm::kPrefill);
        const ProofResult result = prove({sharded, whole}, prompts(), {.seed = 5, .kind = 0, .tamper = tamper.get()});
        return result.values.worst_error_ratio > kProofTolerance;
      };
      CHECK(noticed(1));
      CHECK_FALSE(noticed(4));  // nothing is dropped
    }
  }
}

}  // namespace
}  // namespace shardplan
