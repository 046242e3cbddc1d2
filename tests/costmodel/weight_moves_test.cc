#include "costmodel/weight_moves.h"

#include <rapidcheck.h>

#include <numeric>

#include "costmodel/rank_shares.h"
#include "costmodel/work.h"
#include "tests/catch.h"
#include "tests/costmodel/made_models.h"
#include "tests/costmodel/setup.h"

namespace shardplan {
namespace {

// 16 experts of 3 x 64 x 64, attention of four projections of 64 x 128 and 128 x 64, all in bf16.
ModelSpec sixteen_experts() {
  return made_model({.hidden = 64, .attention = grouped_attention(8, 8, 16), .ffn = moe_ffn(16, 2, 64)});
}
constexpr double kExpert = 3 * 64 * 64 * 2;
constexpr double kOthers = (4 * 64 * 128 + 16 * 64 + 2 * 64) * 2;  // and the router, and two norms

ParallelConfig groups(std::int64_t ranks, std::int64_t redundant = 0) {
  return {.dpa = ranks, .ep = ranks, .variant = {.moe_comm = MoeComm::kAllToAll, .redundant_experts = redundant}};
}

std::vector<LackedBytes> lacked(const ModelSpec& model, const ParallelConfig& before, const ParallelConfig& after,
                                const ExpertLoad& load = {}) {
  const LoweredModel old = lower_model(model, before, default_formats(model));
  const LoweredModel now = lower_model(model, after, default_formats(model));
  return lacked_bytes({old.forms.front().layers.front(), before}, {now.forms.front().layers.front(), after}, load);
}

TEST_CASE("Four ranks become eight: new ones take everything, an old one what it did not hold") {
  const auto moves = lacked(sixteen_experts(), groups(4), groups(8));
  // Rank r had experts 4r to 4r+3 and gets 2r and 2r+1: rank 0 keeps its own, ranks 1 to 3 get those of others.
  REQUIRE(moves.size() == 8);
  for (std::size_t r = 0; r < 8; ++r) {
    CHECK(moves[r].experts == Approx(r == 0 ? 0 : 2 * kExpert));
    CHECK(moves[r].others == Approx(r < 4 ? 0 : kOthers));
  }
}

TEST_CASE("Eight ranks become four: what is no expert stays where it is") {
  const auto moves = lacked(sixteen_experts(), groups(8), groups(4));
  REQUIRE(moves.size() == 4);
  // Rank r had 2r and 2r+1 and gets 4r to 4r+3.
  for (std::size_t r = 0; r < 4; ++r) {
    CHECK(moves[r].experts == Approx((r == 0 ? 2 : 4) * kExpert));
    CHECK(moves[r].others == 0);
  }
}

TEST_CASE("Groups of two ranks hand over the half that lies at the same place of the group") {
  ParallelConfig before{.dpa = 2, .tp = 2, .ep = 4, .variant = {.moe_comm = MoeComm::kAllToAll}};
  ParallelConfig after = before;
  after.dpa = 4;
  after.ep = 8;
  const auto moves = lacked(sixteen_experts(), before, after);
  for (std::size_t r = 0; r < 8; ++r)
    CHECK(moves[r].others == Approx(r < 4 ? 0 : (2 * 64 * 128 + 16 * 64 + 2 * 64) * 2));
}

TEST_CASE("Every slot of an expert is on a rank, and copies are where EPLB puts them") {
  const ExpertLoad load{.kind = ExpertLoad::Kind::kHistogram, .exponent_ratio = 0, .counts = {120, 40, 20, 20}};
  const auto slots = expert_slots(load, 4, 1, 4, 4);
  std::vector<std::int64_t> copies(4, 0);
  for (const auto& rank : slots) {
    CHECK(rank.size() == 2);
    for (const std::int64_t expert : rank) ++copies[static_cast<std::size_t>(expert)];
  }
  CHECK(copies == std::vector<std::int64_t>{4, 2, 1, 1});
  CHECK(expert_slots({}, 5, 1, 2, 0) == std::vector<std::vector<std::int64_t>>{{0, 1, 2}, {3, 4}});
}

TEST_CASE("The same layout moves nothing, a new rank lacks all that it holds, and nobody lacks more than that") {
  CHECK(rc::check([] {
    const auto from = *rc::gen::element<std::int64_t>(2, 4, 8);
    const auto to = *rc::gen::element<std::int64_t>(2, 4, 8);
    const auto redundant = *rc::gen::element<std::int64_t>(0, 8);
    const ExpertLoad load{.kind = ExpertLoad::Kind::kZipf, .exponent_ratio = 0.8, .counts = {}};
    const ModelSpec model = sixteen_experts();
    const auto moves = lacked(model, groups(from, redundant), groups(to, redundant), load);
    const auto slots = expert_slots(load, 16, 2, to, redundant);
    for (std::size_t r = 0; r < moves.size(); ++r) {
      const double held = kExpert * static_cast<double>(slots[r].size());
      RC_ASSERT(moves[r].experts <= held * (1 + 1e-12));
      if (from == to) RC_ASSERT(moves[r].experts == 0 && moves[r].others == 0);
      if (static_cast<std::int64_t>(r) >= from) RC_ASSERT(moves[r].experts > 0 && moves[r].others > 0);
    }
  }));
}

}  // namespace
}  // namespace shardplan
