// Random placement tables: any table that lowers must add up.
#include "costmodel/lower.h"
#include "costmodel/lowering/registry.h"
#include "calibrate/small_models.h"
#include "tests/calibrate/sweep.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}
  std::int64_t below(std::int64_t n) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(n));
  }
  bool coin() { return below(2) == 0; }
  template <class T>
  T one_of(std::initializer_list<T> values) { return *(values.begin() + below(static_cast<std::int64_t>(values.size()))); }
  // Some of `digits`, in their order or shuffled.
  DigitList some(const DigitList& digits) {
    std::vector<Digit> result;
    for (const Digit d : digits) {
      if (coin()) result.insert(result.begin() + below(std::ssize(result) + 1), d);
    }
    return DigitList(result.begin(), result.end());
  }

 private:
  std::uint64_t state_;
};

DigitList without(const DigitList& digits, const DigitList& taken) {
  DigitList result;
  for (const Digit d : digits) {
    if (!DigitSet(taken).contains(d)) result.push_back(d);
  }
  return result;
}

// Heads, positions, FFN columns, experts, vocabulary and residual tokens over any digits in any order.
Strategy random_table(std::int64_t ranks, Draw& draw) {
  Strategy s;
  s.mesh = *Mesh::refine(ranks, {1, 2, 4, 8 <= ranks ? 8 : 4});
  DigitList all;
  for (int d = 0; d < s.mesh.digit_count(); ++d) all.push_back(static_cast<Digit>(d));
  const DigitList requests = draw.below(3) == 0 ? draw.some(all) : DigitList{};
  const DigitList inner = without(all, requests);
  const DigitList heads = draw.some(inner);
  const DigitList kv_heads(heads.begin(), heads.begin() + draw.below(static_cast<std::int64_t>(heads.size()) + 1));
  const DigitList positions = draw.coin() ? draw.some(without(inner, kv_heads)) : DigitList{};
  s.rows.push_back({Part::kAttention, "", Dim::kHeads, heads});
  s.rows.push_back({Part::kAttention, "", Dim::kKvHeads, kv_heads, Layout::kWhole});
  s.rows.push_back({Part::kAttention, "", Dim::kPositions, requests, Layout::kByRequest});
  s.rows.push_back({Part::kAttention, "", Dim::kPositions, positions, Layout::kStriped});
  s.rows.push_back({Part::kDenseFfn, "", Dim::kFfn, draw.some(all)});
  s.rows.push_back({Part::kSharedExpert, "", Dim::kFfn, draw.some(all)});
  const DigitList experts = draw.some(all);
  s.rows.push_back({Part::kExperts, "", Dim::kExperts, experts});
  s.rows.push_back({Part::kExperts, "", Dim::kFfn, draw.some(without(all, experts))});
  s.residual.append(Dim::kTokens, requests, Layout::kByRequest);
  if (draw.coin()) s.residual.append(Dim::kTokens, draw.some(inner), Layout::kContiguous);
  s.cp_interleave = 1 + draw.below(3);
  s.exchange_lse = draw.coin();
  s.dispatch_experts = !experts.empty() && draw.coin();
  return s;
}

struct Outcome {
  int proven = 0;
  int refused = 0;
};

void try_tables(const ModelSpec& model, int tables, Outcome& outcome) {
  const NumberFormat* bf16 = find_format("bf16");
  Draw draw(11);
  for (int i = 0; i < tables; ++i) {
    Strategy table = random_table(draw.coin() ? 4 : 8, draw);
    table.capacity_factor_ratio = i % 3 == 0 ? 1 : 0;   // tokens are dropped in every third
    const StepForm form = draw.one_of({StepForm::kDecode, StepForm::kPrefill, StepForm::kMixed});
    const RaggedBatch batch = form == StepForm::kDecode    ? decode_batch({7, 1, 12, 3, 20})
                              : form == StepForm::kPrefill ? prefill_batch({{0, 7}, {5, 4}, {3, 1}})
                                                           : mixed_batch({7, 2, 9}, {{0, 5}, {4, 6}});
    const LogicalGraph logical = layer_graph(model, model.kinds[static_cast<std::size_t>(i) % model.kinds.size()], form, {bf16, bf16, nullptr});
    INFO(model.name << " table " << i << " " << form_name(form));
    try {
      const StepGraph sharded = lower(logical, table, form);
      Strategy alone = build_strategy(model, {}, form);
      alone.capacity_factor_ratio = table.capacity_factor_ratio;
      const StepGraph whole = lower(logical, alone, form);
      const ProofResult result = prove({sharded, whole}, batch, {.seed = 7, .kind = 0, .measured_tolerance = has_recurrent(model)});
      CHECK(result.values.worst_share_ratio <= 1);
      CHECK(result.values.unheld == 0);
      for (const std::string& mismatch : result.bytes.mismatches) FAIL_CHECK(mismatch);
      ++outcome.proven;
    } catch (const LoweringRefusal&) {
      ++outcome.refused;
    } catch (const std::exception& error) {
      FAIL_CHECK(error.what());
    }
  }
}

TEST_CASE("random placement tables add up or are refused") {
  Outcome outcome;
  for (const ModelSpec& model : {small_dense(), small_moe(), small_latent(), small_latent_plain()}) try_tables(model, 100, outcome);
  CHECK(outcome.proven > 4 * outcome.refused);
}

TEST_CASE("random placement tables of recurrent, single-block and sparse layers add up or are refused") {
  Outcome outcome;
  for (const ModelSpec& model : {small_gated(), small_delta(), small_key_delta(), small_blocks(), small_sparse(), small_biased()}) try_tables(model, 100, outcome);
  INFO(outcome.proven << " proven, " << outcome.refused << " refused");
  CHECK(outcome.proven > outcome.refused);
}

}  // namespace
}  // namespace shardplan
