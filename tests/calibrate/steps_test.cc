// Prefill and decode steps that share a cache, layers over pipeline stages, embedding and head.
#include "tests/calibrate/failure_of.h"
#include "calibrate/small_models.h"
#include "tests/calibrate/sweep.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

struct Conversation {
  ParallelConfig config;
  ModelSpec model = small_dense();
  double tolerance_ratio = kProofTolerance;
};

// Two prompts, the second in two chunks, then three decode steps while a third prompt arrives. A batch lists a request
// also when it does nothing in the step, so that attention data parallelism leaves each in its group.
ProofResult converse(const Conversation& c) {
  Proof proof(c.model, c.config, {.seed = 3, .invent_prefix = false});
  ProofResult total = proof.step(StepForm::kPrefill, {{{10, 0, 7, Phase::kPrefill}, {11, 0, 5, Phase::kPrefill}}});
  total.absorb(proof.step(StepForm::kPrefill, {{{10, 7, 0, Phase::kPrefill}, {11, 5, 4, Phase::kPrefill}}}));
  total.absorb(proof.step(StepForm::kDecode, {{{10, 7, 1, Phase::kDecode}, {11, 9, 1, Phase::kDecode}}}));
  total.absorb(proof.step(StepForm::kMixed, {{{10, 8, 1, Phase::kDecode}, {11, 10, 1, Phase::kDecode}, {12, 0, 6, Phase::kPrefill}}}));
  total.absorb(proof.step(StepForm::kDecode, {{{10, 9, 1, Phase::kDecode}, {12, 6, 1, Phase::kDecode}}}));
  return total;
}

void check_conversation(const Conversation& c) {
  INFO(c.model.name << " " << short_text(c.config));
  const ProofResult result = converse(c);
  INFO(result.values.worst_tensor << " on rank " << result.values.worst_rank);
  CHECK(result.values.worst_error_ratio < c.tolerance_ratio);
  CHECK(result.values.values > 0);
  for (const std::string& mismatch : result.bytes.mismatches) FAIL_CHECK(mismatch);
}

TEST_CASE("a prompt's cache is what the decode steps after it find, on the same ranks") {
  Variant helix{.helix = true, .cp_interleave = 2};
  Variant a2a{.dcp_comm = DcpComm::kA2a};
  check_conversation({{.tp = 4}});
  check_conversation({{.tp = 8}});
  check_conversation({{.tp = 4, .dcp = 2}});
  check_conversation({{.tp = 8, .dcp = 4, .variant = a2a}});
  check_conversation({{.tp = 4, .dcp = 2, .variant = helix}});
  check_conversation({{.dpa = 2, .tp = 2}});
  check_conversation({{.dpa = 2, .tp = 4, .dcp = 2}});
  check_conversation({{.tp = 4, .dcp = 4, .variant = helix}, small_latent_plain()});
}

TEST_CASE("states and index keys live on from prefill to decode") {
  // Short vectors that are brought to unit length make more of the rounding of the layers before.
  constexpr double kTolerance = 2e-4;
  for (const ModelSpec& model : {small_delta(), small_key_delta(), small_blocks()}) {
    check_conversation({{.tp = 4}, model, kTolerance});
    check_conversation({{.dpa = 2, .tp = 2}, model, kTolerance});
    check_conversation({{.tp = 4, .dcp = 2}, model, kTolerance});
    check_conversation({{.pp = 2, .tp = 2}, model, kTolerance});
    check_conversation({{.pcp = 2, .tp = 2, .dcp = 2}, model, kTolerance});
  }
  check_conversation({{.tp = 4}, small_compressed(), kTolerance});
  check_conversation({{.dpa = 2, .tp = 2}, small_compressed(), kTolerance});
  check_conversation({{.pp = 2, .tp = 2}, small_compressed(), kTolerance});
  check_conversation({{.tp = 4, .dcp = 2}, small_compressed(), kTolerance});
  check_conversation({{.tp = 4, .dcp = 4, .variant = {.helix = true, .cp_interleave = 2}}, small_compressed(), kTolerance});
  check_conversation({{.pcp = 2, .tp = 2, .dcp = 2}, small_compressed(), kTolerance});
  check_conversation({{.tp = 4}, small_sparse()});
  check_conversation({{.tp = 4, .dcp = 4}, small_sparse()});
  check_conversation({{.tp = 4, .dcp = 2, .variant = {.helix = true, .cp_interleave = 2}}, small_sparse()});
  check_conversation({{.dpa = 2, .tp = 4, .dcp = 2, .variant = {.dcp_comm = DcpComm::kA2a, .q_replicate = true}}, small_sparse()});
  check_conversation({{.pcp = 2, .tp = 2, .dcp = 4}, small_sparse()});
  check_conversation({{.dpa = 2, .tp = 2}, small_sparse()});
  check_conversation({{.pcp = 4}, small_sparse()});
}

TEST_CASE("a zigzag or striped prefill writes a striped cache that decode reads") {
  for (const PcpLayout layout : {PcpLayout::kZigzag, PcpLayout::kContiguous, PcpLayout::kStriped}) {
    for (const PcpComm comm : {PcpComm::kRing, PcpComm::kAllGather}) {
      const Variant variant{.cp_interleave = 2, .pcp_comm = comm, .pcp_layout = layout};
      check_conversation({{.pcp = 4, .variant = variant}});
      check_conversation({{.pcp = 4, .dcp = 4, .variant = variant}});
      check_conversation({{.pcp = 2, .tp = 2, .dcp = 4, .variant = variant}});
      check_conversation({{.pcp = 2, .tp = 2, .dcp = 2, .variant = variant}, small_latent_plain()});
    }
  }
}

TEST_CASE("layers over pipeline stages, with embedding and head split over the vocabulary") {
  const Variant all_to_all{.moe_comm = MoeComm::kAllToAll};
  check_conversation({{.pp = 2, .tp = 2}});
  check_conversation({{.pp = 2, .dpa = 2, .tp = 2}});
  check_conversation({{.pp = 2, .tp = 8}});
  check_conversation({{.pp = 2, .tp = 4, .ep = 4, .variant = all_to_all}, small_latent()});
  check_conversation({{.pp = 2, .dpa = 2, .tp = 2, .moe_tp = 2, .ep = 2, .variant = all_to_all}, small_moe()});
}

TEST_CASE("decode under another interleave finds the cached rows on other ranks") {
  const ModelSpec model = small_dense();
  const Variant one{.cp_interleave = 1};
  const Variant two{.cp_interleave = 2};
  const ParallelConfig prefill{.tp = 4, .dcp = 2, .variant = one};
  const ParallelConfig decode{.tp = 4, .dcp = 2, .variant = two};
  Proof proof(model, prefill, {.seed = 3, .kind = 0, .invent_prefix = false});
  static_cast<void>(proof.step(StepForm::kPrefill, {{{1, 0, 7, Phase::kPrefill}}}));
  proof.change_config(decode);
  const std::string failure = failure_of([&] { static_cast<void>(proof.step(StepForm::kDecode, {{{1, 7, 1, Phase::kDecode}}})); });
  CHECK_THAT(failure, contains_text("is on another rank"));
}

}  // namespace
}  // namespace shardplan
