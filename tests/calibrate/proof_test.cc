// Every lowering and their combinations on 1 to 8 ranks: uneven tokens, empty ranks, lengths that do not divide.
#include "calibrate/small_models.h"
#include "tests/calibrate/sweep.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

void check_sweep(const ModelSpec& model, const SweepGrid& grid) {
  const SweepReport report = sweep(model, grid);
  for (const std::string& failure : report.failures) UNSCOPED_INFO(failure);
  CHECK(report.failures.empty());
  CHECK(report.proven > 10 * report.refused);
  CHECK(report.total.bytes.mismatches.empty());
}

TEST_CASE("configurations of a GQA model add up, all of them on up to 6 ranks", "[proof][slow]") {
  check_sweep(small_dense(), {.ranks = {1, 2, 3, 4, 6}});
  check_sweep(small_dense(), {.ranks = {8}, .every = 5});
}

TEST_CASE("windows and sinks add up", "[proof]") { check_sweep(small_windowed(), {.ranks = {2, 4, 8}, .every = 11}); }

TEST_CASE("MLA adds up, absorbed and expanded", "[proof]") { check_sweep(small_latent_plain(), {.ranks = {1, 2, 4, 8}, .every = 5}); }

TEST_CASE("mixtures of experts add up: tensor, data, expert parallel, all three exchanges", "[proof]") {
  check_sweep(small_moe(), {.ranks = {1, 2, 4}, .every = 9});
  check_sweep(small_moe(), {.ranks = {8}, .every = 101});
}

TEST_CASE("MLA with shared and routed experts adds up", "[proof]") {
  check_sweep(small_latent(), {.ranks = {2, 4}, .every = 43});
  check_sweep(small_latent(), {.ranks = {8}, .every = 307});
}

TEST_CASE("gated, chunked and normalised layers add up", "[proof]") { check_sweep(small_gated(), {.ranks = {2, 4, 8}, .every = 23}); }

TEST_CASE("recurrent layers add up: heads split, tokens whole, states where their heads are", "[proof]") {
  check_sweep(small_delta(), {.ranks = {1, 2, 4}, .every = 3});
  check_sweep(small_delta(), {.ranks = {8}, .every = 31});
  check_sweep(small_key_delta(), {.ranks = {2, 4, 8}, .every = 37});
}

TEST_CASE("layers of one block and latent experts add up", "[proof]") {
  check_sweep(small_blocks(), {.ranks = {1, 2, 4}, .every = 29});
  check_sweep(small_blocks(), {.ranks = {8}, .every = 211});
}

TEST_CASE("biases and Q/K norms add up: each is added once, sums of squares over all heads are whole", "[proof]") {
  check_sweep(small_biased(), {.ranks = {2, 4}, .every = 43});
  check_sweep(small_biased(), {.ranks = {8}, .every = 307});
}

TEST_CASE("compressed attention adds up: entries striped as entries, heads by groups, streams as the residual lies", "[proof][slow]") {
  check_sweep(small_compressed(), {.ranks = {1, 2, 4}, .every = 11});
  check_sweep(small_compressed(), {.ranks = {8}, .every = 101});
}

TEST_CASE("compressed attention adds up on a few layouts", "[proof]") { check_sweep(small_compressed(), {.ranks = {2, 4}, .every = 101}); }

TEST_CASE("configurations of a GQA model add up, a few of them", "[proof]") { check_sweep(small_dense(), {.ranks = {2, 4}, .every = 17}); }

TEST_CASE("sparse attention adds up, its choice among the keys of several ranks too", "[proof]") {
  const auto whole_cache = [](const ParallelConfig& config) { return config.dcp == 1; };
  const auto split_cache = [](const ParallelConfig& config) { return config.dcp > 1; };
  check_sweep(small_sparse(), {.ranks = {1, 2, 4, 8}, .every = 3, .only = whole_cache});
  check_sweep(small_sparse(), {.ranks = {2, 3, 4, 6, 8}, .every = 7, .only = split_cache});
}

// Ranks whose experts nobody chose send and compute nothing, and still join every exchange.
TEST_CASE("mixtures add up when all tokens go to the same experts", "[proof]") {
  for (const MoeComm comm : {MoeComm::kReplicated, MoeComm::kAllGather, MoeComm::kAllToAll}) {
    const Variant variant{.moe_comm = comm};
    for (const ParallelConfig& config : {ParallelConfig{.tp = 4, .ep = 4, .variant = variant}, ParallelConfig{.dpa = 8, .ep = 8, .variant = variant},
                                         ParallelConfig{.dpa = 2, .tp = 2, .moe_tp = 2, .ep = 2, .variant = variant}}) {
      INFO(short_text(config));
      for (const StepForm form : {StepForm::kDecode, StepForm::kPrefill}) {
        Proof proof(small_moe(), config, {.seed = 5, .kind = 0, .crowd_experts = true});
        const ProofResult result = proof.step(form, form == StepForm::kDecode ? decode_batch({7, 1, 12}) : prefill_batch({{0, 7}, {5, 4}}));
        CHECK(result.values.worst_error_ratio < kProofTolerance);
        CHECK(result.bytes.mismatches.empty());
        CHECK(result.moved_bytes > 0);
      }
    }
  }
}

}  // namespace
}  // namespace shardplan
