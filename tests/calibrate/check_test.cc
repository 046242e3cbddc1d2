// The check of whole small transformers: it holds on every strategy, and notices each way to break one.
#include <set>

#include "calibrate/check/breakage.h"
#include "calibrate/check/run_check.h"
#include "calibrate/small_models.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

std::vector<CheckRow> rows_of(const std::vector<ModelSpec>& models, std::int64_t ranks, const CheckOptions& options, std::size_t every = 1) {
  std::vector<CheckRow> rows;
  const auto cases = check_cases(models, ranks);
  for (std::size_t i = 0; i < cases.size(); i += every) rows.push_back(run_check(cases[i], options));
  return rows;
}

// `loose`: a model of which roundings alone change some tensors by more than half (measured: of 9 % of its values).
void check_all_hold(const std::vector<CheckRow>& rows, const std::string& loose = "") {
  for (const CheckRow& row : rows) {
    INFO(row.model << " " << row.lowering << " " << short_text(row.config));
    for (const std::string& fault : row.faults) FAIL_CHECK(fault);
    const Comparison& values = row.proof.values;
    CHECK((!row.refusal.empty() || values.values > 0));
    CHECK(values.unheld <= (row.model == loose ? (values.values + values.partials) / 10 : 0));
  }
}

TEST_CASE("prefill, then decode steps that embed what was sampled, are the same sharded and unsharded", "[proof]") {
  check_all_hold(rows_of({small_dense(), small_moe(), small_latent()}, 4, {.repeats = 1}, 5));
  check_all_hold(rows_of({small_latent_plain(), small_blocks(), small_key_delta(), small_sparse(), small_compressed()}, 8, {.repeats = 1}, 41));
}

TEST_CASE("MTP modules draft and verified tokens come out the same sharded and unsharded, refused ones written over", "[proof]") {
  std::vector<CheckRow> rows;
  for (const CheckCase& c : check_cases({small_drafting()}, 8)) {
    if (c.config.variant.speculative_tokens > 0) rows.push_back(run_check(c, {.repeats = 1}));
  }
  CHECK(rows.size() > 15);
  check_all_hold(rows);
}

TEST_CASE("numbers that are kept and sent in bf16 stay within what other roundings make of them", "[proof]") {
  const auto rows = rows_of({small_dense(), small_moe(), small_latent()}, 4, {.storage = Storage::kBf16, .repeats = 1}, 6);
  check_all_hold(rows);
  double worst = 0;
  for (const CheckRow& row : rows) worst = std::max(worst, row.proof.values.worst_error_ratio);
  CHECK(worst > 1e-4);   // it does round
  // Choices of indexers follow the unsharded run's; what recurrent layers make of roundings is measured with it.
  check_all_hold(rows_of({small_sparse(), small_compressed(), small_delta(), small_key_delta()}, 4, {.storage = Storage::kBf16, .repeats = 1}, 41), small_key_delta().name);
}

TEST_CASE("a check runs every strategy of the registry") {
  std::set<std::string> lowerings;
  for (const CheckCase& c : check_cases(small_models(), 4)) lowerings.insert(c.lowering);
  CHECK(lowerings.size() == 9);
}

TEST_CASE("each way to break a sharding is noticed where it can matter") {
  for (const Storage storage : {Storage::kFp32, Storage::kBf16}) {
    for (const BreakageKind& kind : breakage_kinds()) {
      const auto tamper = kind.make();
      const CheckOptions options{.storage = storage, .tamper = tamper.get(), .timeout = std::chrono::milliseconds(3000), .repeats = 1};
      const std::string name = kind.name;
      const bool drops = name == "ignore_capacity" || name == "drop_first";
      const ModelSpec model = drops ? small_moe() : small_dense();
      const ParallelConfig dropping{.dpa = 4, .ep = 4, .variant = {.moe_comm = MoeComm::kAllToAll, .capacity_factor_ratio = 1}};
      const ParallelConfig config = drops ? dropping : name == "drop_lse" ? ParallelConfig{.tp = 4, .dcp = 2} : ParallelConfig{.tp = 4};
      INFO(kind.name);
      CHECK_FALSE(run_check({"tensor_parallel", model, config}, options).holds());
      CHECK(run_check({"tensor_parallel", model, {}}, options).holds());   // one rank sends nothing, and drops nothing
    }
  }
}

TEST_CASE("bf16 rounds to the nearest, ties to even") {
  CHECK(rounded_to_bf16(1.0F) == 1.0F);
  CHECK(rounded_to_bf16(1.0F + 1.0F / 256) == 1.0F);             // half a step: to even
  CHECK(rounded_to_bf16(1.0F + 3.0F / 256) == 1.0F + 4.0F / 256);
  CHECK(rounded_to_bf16(1.0F + 1.1F / 256) == 1.0F + 2.0F / 256);
  CHECK(rounded_to_bf16(-3.0e38F) < -2.9e38F);
}

}  // namespace
}  // namespace shardplan
