#include "costmodel/index_sets.h"

#include <rapidcheck.h>

#include <algorithm>
#include <string>

#include "base/errors.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

using Indices = std::vector<std::int64_t>;

Mesh mesh_of(const Indices& sizes_inner_first) {
  Indices strides;
  std::int64_t ranks = 1;
  for (const std::int64_t size : sizes_inner_first) strides.push_back(ranks *= size);
  return *Mesh::refine(ranks, strides);
}

ShardList list_of(Dim dim, const std::vector<Layout>& layouts) {
  ShardList list;
  for (std::size_t d = 0; d < layouts.size(); ++d) list.push_back({dim, static_cast<Digit>(d), layouts[d]});
  return list;
}

Indices positions_of(const std::vector<TokenIndex>& all, const Indices& held) {
  Indices positions;
  for (const std::int64_t i : held) positions.push_back(all[static_cast<std::size_t>(i)].position);
  return positions;
}

// One prompt of 32 tokens on 4 ranks.
struct Prompt {
  Mesh mesh = mesh_of({4});
  RaggedBatch batch = RaggedBatch::from({.prefill_sequences = 1, .prefill_tokens = 32});
  std::vector<TokenIndex> tokens = batch_tokens(batch, Phase::kAll);
  [[nodiscard]] Indices held(Layout layout, std::int64_t rank, std::int64_t interleave = 1) const {
    return held_tokens(mesh, list_of(Dim::kTokens, {layout}), batch, tokens, interleave, rank);
  }
};

TEST_CASE("Zigzag gives rank r blocks r and 2P-1-r") {
  const Prompt prompt;
  CHECK(prompt.held(Layout::kZigzag, 0) == Indices{0, 1, 2, 3, 28, 29, 30, 31});
  CHECK(prompt.held(Layout::kZigzag, 1) == Indices{4, 5, 6, 7, 24, 25, 26, 27});
  CHECK(prompt.held(Layout::kZigzag, 2) == Indices{8, 9, 10, 11, 20, 21, 22, 23});
  CHECK(prompt.held(Layout::kZigzag, 3) == Indices{12, 13, 14, 15, 16, 17, 18, 19});
}

TEST_CASE("Striped tokens go by absolute position") {
  const Prompt prompt;
  CHECK(prompt.held(Layout::kStriped, 1) == Indices{1, 5, 9, 13, 17, 21, 25, 29});
  CHECK(prompt.held(Layout::kStriped, 1, 4) == Indices{4, 5, 6, 7, 20, 21, 22, 23});
  const RaggedBatch cached = RaggedBatch::from({.prefill_sequences = 1, .prefill_tokens = 4, .prefill_prefix = 6});
  const auto tokens = batch_tokens(cached, Phase::kAll);
  const auto held = held_tokens(prompt.mesh, list_of(Dim::kTokens, {Layout::kStriped}), cached, tokens, 1, 0);
  CHECK(positions_of(tokens, held) == Indices{8});
}

TEST_CASE("Whole heads are repeated when there are more ranks than heads") {
  const Mesh mesh = mesh_of({8});
  const auto whole = list_of(Dim::kKvHeads, {Layout::kWhole});
  for (std::int64_t rank = 0; rank < 8; ++rank) {
    CHECK(held_indices(mesh, whole, 4, rank) == Indices{rank / 2});
    CHECK(held_indices(mesh, whole, 16, rank) == Indices{2 * rank, 2 * rank + 1});
  }
  CHECK(max_held(mesh, whole, 4) == 1);
  CHECK(held_indices(mesh, list_of(Dim::kHeads, {Layout::kContiguous}), 4, 0).empty());
}

TEST_CASE("64 experts over 4 ranks start at 0, 16, 32, 48") {
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    const Indices held = held_indices(mesh_of({4}), list_of(Dim::kExperts, {Layout::kContiguous}), 64, rank);
    CHECK(held.front() == 16 * rank);
    CHECK(held.size() == 16);
  }
}

TEST_CASE("Whole requests are dealt within each phase, and tokens meet their cache") {
  RaggedBatch batch;
  batch.requests = {
      {7, 5, 1, Phase::kDecode}, {3, 0, 4, Phase::kPrefill}, {9, 8, 1, Phase::kDecode}, {1, 2, 3, Phase::kPrefill}};
  const Mesh mesh = mesh_of({2});
  const auto list = list_of(Dim::kTokens, {Layout::kByRequest});
  const auto tokens = batch_tokens(batch, Phase::kAll);
  CHECK(held_tokens(mesh, list, batch, tokens, 1, 0) == Indices{0, 1, 2, 3, 4});  // requests 7 and 3
  CHECK(held_tokens(mesh, list, batch, tokens, 1, 1) == Indices{5, 6, 7, 8});     // requests 9 and 1
  // Request 3 has no cached position yet; the others stay with their tokens all the same.
  const auto cached = batch_positions(batch, Phase::kAll, false);
  CHECK(held_tokens(mesh, list, batch, cached, 1, 0) == Indices{0, 1, 2, 3, 4});
  CHECK(cached[5].request == 9);
  CHECK(batch_positions(batch, Phase::kPrefill, true).size() == 9);
}

TEST_CASE("Later runs cut what earlier runs left") {
  // dpa 2 by request, pcp 2 zigzag, tp 2 flat: two prompts of 8.
  const Mesh mesh = mesh_of({2, 2, 2});
  const RaggedBatch batch = RaggedBatch::from({.prefill_sequences = 2, .prefill_tokens = 8});
  const auto tokens = batch_tokens(batch, Phase::kAll);
  const auto list = list_of(Dim::kTokens, {Layout::kByRequest, Layout::kZigzag, Layout::kContiguous});
  CHECK(held_tokens(mesh, list, batch, tokens, 1, 0) == Indices{0, 1});
  CHECK(held_tokens(mesh, list, batch, tokens, 1, 1) == Indices{6, 7});
  CHECK(held_tokens(mesh, list, batch, tokens, 1, 3) == Indices{4, 5});
  CHECK(held_tokens(mesh, list, batch, tokens, 1, 6) == Indices{10, 11});
}

TEST_CASE("A decode step has one token per sequence at the end of its context") {
  const auto tokens = batch_tokens(RaggedBatch::from({.decode_sequences = 2, .decode_context = 10}), Phase::kDecode);
  REQUIRE(tokens.size() == 2);
  CHECK(tokens[1] == TokenIndex{1, 9, Phase::kDecode});
  CHECK_THROWS_AS(RaggedBatch::from({.decode_sequences = 1, .decode_context = 1.5}), InternalError);
}

// --- Closed forms against brute force ----------------------------------------------------------------------

std::int64_t small(std::int64_t from, std::int64_t to) { return *rc::gen::inRange<std::int64_t>(from, to); }

struct Case {
  Mesh mesh;
  ShardList list;
  BatchShape shape;
  std::int64_t interleave = 1;
};

Layout any_layout(std::initializer_list<Layout> layouts) { return *rc::gen::elementOf(std::vector<Layout>(layouts)); }

// A list as strategies make them: requests, then one layout within requests, then flat; each may be missing.
Case any_case() {
  Case result;
  std::vector<Layout> layouts;
  if (*rc::gen::arbitrary<bool>()) layouts.push_back(Layout::kByRequest);
  if (*rc::gen::arbitrary<bool>()) layouts.push_back(any_layout({Layout::kBlocked, Layout::kZigzag, Layout::kStriped}));
  if (*rc::gen::arbitrary<bool>()) layouts.push_back(any_layout({Layout::kContiguous, Layout::kWhole}));
  Indices sizes;
  for (std::size_t i = 0; i < layouts.size(); ++i) sizes.push_back(small(2, 7));
  result.mesh = mesh_of(sizes);
  result.list = list_of(Dim::kTokens, layouts);
  result.interleave = small(1, 5);
  result.shape = {.decode_sequences = small(0, 12),
                  .decode_context = static_cast<double>(small(1, 40)),
                  .prefill_sequences = small(0, 6),
                  .prefill_tokens = small(0, 40),
                  .prefill_prefix = static_cast<double>(small(0, 30))};
  return result;
}

std::int64_t most_held(const Case& c, const RaggedBatch& batch, const std::vector<TokenIndex>& all) {
  std::int64_t most = 0;
  for (std::int64_t rank = 0; rank < c.mesh.ranks(); ++rank) {
    most = std::max(most, std::ssize(held_tokens(c.mesh, c.list, batch, all, c.interleave, rank)));
  }
  return most;
}

TEST_CASE("max_tokens is what the busiest rank holds of one phase") {
  CHECK(rc::check([] {
    const Case c = any_case();
    const RaggedBatch batch = RaggedBatch::from(c.shape);
    const RaggedSplit split = ragged_split(c.mesh, c.list, c.interleave);
    for (const Phase phase : {Phase::kDecode, Phase::kPrefill}) {
      RC_ASSERT(max_tokens(split, c.shape, phase) ==
                static_cast<double>(most_held(c, batch, batch_tokens(batch, phase))));
    }
  }));
}

TEST_CASE("max_tokens of both phases bounds the busiest rank, exactly where layouts act on requests or flat") {
  CHECK(rc::check([] {
    const Case c = any_case();
    const RaggedBatch batch = RaggedBatch::from(c.shape);
    const RaggedSplit split = ragged_split(c.mesh, c.list, c.interleave);
    const auto most = static_cast<double>(most_held(c, batch, batch_tokens(batch, Phase::kAll)));
    const bool aligned = std::none_of(split.runs.begin(), split.runs.end(), [](const RaggedSplit::Run& run) {
      return run.layout == Layout::kZigzag || run.layout == Layout::kStriped;
    });
    RC_ASSERT(max_tokens(split, c.shape, Phase::kAll) >= most);
    if (aligned) RC_ASSERT(max_tokens(split, c.shape, Phase::kAll) == most);
  }));
}

TEST_CASE("max_positions is what the busiest rank holds of the cache") {
  CHECK(rc::check([] {
    const Case c = any_case();
    const RaggedBatch batch = RaggedBatch::from(c.shape);
    const auto cached = batch_positions(batch, Phase::kDecode, true);
    const double most =
        max_positions(ragged_split(c.mesh, c.list, c.interleave), c.shape.decode_sequences, c.shape.decode_context);
    RC_ASSERT(most == static_cast<double>(most_held(c, batch, cached)));
  }));
}

TEST_CASE("Any list is a partition of the tokens, and max_tokens is never below the busiest rank") {
  CHECK(rc::check([] {
    Case c = any_case();
    std::vector<Layout> layouts;
    for (std::int64_t i = small(0, 4); i > 0; --i) {
      layouts.push_back(any_layout({Layout::kContiguous, Layout::kByRequest, Layout::kBlocked, Layout::kStriped}));
    }
    c.mesh = mesh_of(Indices(layouts.size(), small(2, 4)));
    c.list = list_of(Dim::kTokens, layouts);
    const RaggedBatch batch = RaggedBatch::from(c.shape);
    const auto all = batch_tokens(batch, Phase::kAll);
    Indices seen;
    for (std::int64_t rank = 0; rank < c.mesh.ranks(); ++rank) {
      const Indices held = held_tokens(c.mesh, c.list, batch, all, c.interleave, rank);
      RC_ASSERT(std::is_sorted(held.begin(), held.end()));
      seen.insert(seen.end(), held.begin(), held.end());
    }
    std::sort(seen.begin(), seen.end());
    RC_ASSERT(std::ssize(seen) == std::ssize(all));
    RC_ASSERT(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
    RC_ASSERT(max_tokens(ragged_split(c.mesh, c.list, c.interleave), c.shape, Phase::kAll) >=
              static_cast<double>(most_held(c, batch, all)));
  }));
}

TEST_CASE("max_held is the largest part of a fixed dimension") {
  CHECK(rc::check([] {
    const std::int64_t extent = small(0, 60);
    std::vector<Layout> layouts;
    for (std::int64_t i = small(0, 4); i > 0; --i) layouts.push_back(any_layout({Layout::kContiguous, Layout::kWhole}));
    const Mesh mesh = mesh_of(Indices(layouts.size(), small(2, 5)));
    const auto list = list_of(Dim::kHeads, layouts);
    std::int64_t most = 0;
    for (std::int64_t rank = 0; rank < mesh.ranks(); ++rank)
      most = std::max(most, std::ssize(held_indices(mesh, list, extent, rank)));
    RC_ASSERT(max_held(mesh, list, extent) == most);
  }));
}

TEST_CASE("A mean length under stripes lies between its neighbours") {
  const RaggedSplit split = ragged_split(mesh_of({4}), list_of(Dim::kPositions, {Layout::kStriped}), 16);
  CHECK(max_positions(split, 2, 70.5) == Approx(2 * 22.5));
  CHECK(max_positions(split, 2, 90.5) == Approx(2 * 32));
}

TEST_CASE("Splits are equal when their runs and interleave are") {
  const Mesh mesh = mesh_of({2, 2});
  const auto list = list_of(Dim::kTokens, {Layout::kStriped, Layout::kStriped});
  CHECK(ragged_split(mesh, list, 1).runs.size() == 1);
  CHECK(ragged_split(mesh, list, 1) == ragged_split(mesh_of({4}), list_of(Dim::kTokens, {Layout::kStriped}), 1));
  CHECK_FALSE(ragged_split(mesh, list, 1) == ragged_split(mesh, list, 2));
}

}  // namespace
}  // namespace shardplan
