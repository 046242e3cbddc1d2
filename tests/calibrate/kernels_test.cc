#include <cmath>

#include "calibrate/cache_store.h"
#include "calibrate/kernels/attention.h"
#include "calibrate/kernels/matmul.h"
#include "calibrate/kernels/moe.h"
#include "calibrate/kernels/rotary.h"
#include "calibrate/kernels/vocabulary.h"
#include "calibrate/nodes/lse_merge.h"
#include "calibrate/token_id.h"
#include "calibrate/transfer.h"
#include "tests/calibrate/failure_of.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

using Ids = std::vector<std::int64_t>;

LocalArray filled(LocalDims dims, std::vector<float> values) {
  LocalArray array(std::move(dims));
  array.values = std::move(values);
  return array;
}

Ids tokens_at(const Ids& positions, std::int64_t request = 0) {
  Ids ids;
  for (const std::int64_t p : positions) ids.push_back(token_id(request, p));
  return ids;
}

// One query head of width 1 at each position.
LocalArray ones(const Ids& tokens, Dim ragged, Dim heads, float value) {
  return filled({{ragged, tokens}, {heads, {0}}, {Dim::kHeadDim, {0}}}, std::vector<float>(tokens.size(), value));
}

struct Attended {
  float o;
  float lse;
};

Attended attend(const AttentionOp& op, const Ids& query, const Ids& keys, std::vector<float> values) {
  const LocalArray q = ones(query, Dim::kTokens, Dim::kHeads, 0.0F);
  const LocalArray k = ones(keys, Dim::kTokens, Dim::kKvHeads, 1.0F);
  LocalArray v = ones(keys, Dim::kTokens, Dim::kKvHeads, 0.0F);
  v.values = std::move(values);
  LocalArray out(q.dims, 1, true);
  OnlineAttention attention({op, 1, 1}, q, out);
  attention.add(k, v);
  attention.finish(out);
  return {out.values[0], out.lse[0]};
}

AttentionOp unit_attention() { return {.phase = Phase::kPrefill, .qk_dim = 1, .v_dim = 1}; }

TEST_CASE("a product contracts the dimensions that x and weight share and copies carried columns") {
  // x = [1, 2 | 9], w = [[3, 4], [5, 6]]: [1*3+2*4, 1*5+2*6 | 9].
  const LocalArray x = filled({{Dim::kTokens, {0}}, {Dim::kKvLatent, {0, 1, 2}}}, {1, 2, 9});
  const LocalArray w = filled({{Dim::kHeadDim, {0, 1}}, {Dim::kKvLatent, {0, 1}}}, {3, 4, 5, 6});
  LocalArray out(LocalDims{{Dim::kTokens, {0}}, {Dim::kHeadDim, {0, 1, 2}}});
  matmul(x, w, 1, out);
  CHECK(out.values == std::vector<float>{11, 17, 9});
}

TEST_CASE("a product over half of a contracted dimension is a partial sum") {
  const LocalArray x = filled({{Dim::kTokens, {0}}, {Dim::kFfn, {2, 3}}}, {1, 2});
  const LocalArray w = filled({{Dim::kHidden, {0}}, {Dim::kFfn, {2, 3}}}, {3, 4});
  LocalArray out(LocalDims{{Dim::kTokens, {0}}, {Dim::kHidden, {0}}});
  matmul(x, w, 0, out);
  CHECK(out.values == std::vector<float>{11});
  LocalArray other = w;
  other.dims[1].ids = {0, 1};
  CHECK_THAT(failure_of([&] { matmul(x, other, 0, out); }), contains_text("ffn"));
}

TEST_CASE("attention is causal by absolute position and stays inside its request") {
  Ids keys = tokens_at({0, 1, 2});
  keys.push_back(token_id(1, 0));
  // All scores are zero: the mean of what is visible to position 1 is (1 + 2) / 2, of two keys.
  const Attended got = attend(unit_attention(), tokens_at({1}), keys, {1, 2, 40, 80});
  CHECK(got.o == Approx(1.5));
  CHECK(got.lse == Approx(std::log(2.0)));
}

TEST_CASE("a window counts the query itself") {
  AttentionOp op = unit_attention();
  op.window = 2;
  CHECK(attend(op, tokens_at({3}), tokens_at({0, 1, 2, 3}), {1, 2, 3, 5}).o == Approx(4.0));
}

TEST_CASE("a rank without visible keys gives zero with an LSE of minus infinity, and merges as nothing") {
  const Attended got = attend(unit_attention(), tokens_at({0}), tokens_at({5}), {7});
  CHECK(got.o == 0.0F);
  CHECK(std::isinf(got.lse));
  const auto merged = merged_lse({{got.lse, got.lse}, {2.0F, got.lse}});
  CHECK(merged[0] == 2.0F);
  CHECK(lse_weight(got.lse, merged[0]) == 0.0F);
  CHECK(lse_weight(got.lse, merged[1]) == 0.0F);
}

TEST_CASE("partial attention merges to the whole by log-sum-exp") {
  const Attended whole = attend(unit_attention(), tokens_at({2}), tokens_at({0, 1, 2}), {1, 2, 6});
  const Attended left = attend(unit_attention(), tokens_at({2}), tokens_at({0, 2}), {1, 6});
  const Attended right = attend(unit_attention(), tokens_at({2}), tokens_at({1}), {2});
  const float lse = merged_lse({{left.lse}, {right.lse}})[0];
  CHECK(lse == Approx(whole.lse));
  CHECK(left.o * lse_weight(left.lse, lse) + right.o * lse_weight(right.lse, lse) == Approx(whole.o));
}

TEST_CASE("a query head without its KV head is an error") {
  const LocalArray q = filled({{Dim::kTokens, {0}}, {Dim::kHeads, {3}}, {Dim::kHeadDim, {0}}}, {1});
  const LocalArray k = ones({0}, Dim::kTokens, Dim::kKvHeads, 1.0F);
  const LocalArray out(q.dims);
  OnlineAttention attention({unit_attention(), 4, 2}, q, out);   // head 3 of 4 reads KV head 1 of 2
  CHECK(failure_of([&] { attention.add(k, k); }) == "query head 3 without its KV head");
}

TEST_CASE("rotary turns by the absolute position and leaves leading columns alone") {
  const LocalArray x = filled({{Dim::kTokens, tokens_at({3})}, {Dim::kHeadDim, {0, 1, 2}}}, {5, 1, 0});
  LocalArray out(x.dims);
  rotary(x, 2, out);
  CHECK(out.values[0] == 5.0F);
  CHECK(out.values[1] == Approx(std::cos(3.0)));
  CHECK(out.values[2] == Approx(std::sin(3.0)));
}

TEST_CASE("routing takes the k largest, ties to the lower expert, and renormalises") {
  const LocalArray x = filled({{Dim::kTokens, {0}}, {Dim::kHidden, {0}}}, {1});
  const LocalArray w = filled({{Dim::kExperts, {0, 1, 2}}, {Dim::kHidden, {0}}}, {0, 1, 1});
  LocalArray routing(LocalDims{{Dim::kTokens, {0}}, {Dim::kRouted, {0, 1}}}, kRoutingWidth);
  route(x, {w}, {.experts = 3, .per_token = 2}, Chooser{}, routing);
  CHECK(routing.values == std::vector<float>{1, 0.5F, 2, 0.5F});
}

TEST_CASE("sampling takes the largest logit, ties to the lower token") {
  const LocalArray logits = filled({{Dim::kTokens, {0, 1}}, {Dim::kVocab, {0, 1, 2}}}, {1, 3, 3, 5, 4, 4});
  LocalArray ids(LocalDims{{Dim::kTokens, {0, 1}}});
  sample(logits, Chooser{}, ids);
  CHECK(ids.values == std::vector<float>{1, 0});
}

TEST_CASE("a cached row is found by request and position, and its absence is told") {
  CacheStore cache;
  const CacheName name{0, "cache_k"};
  cache.put(name, filled({{Dim::kPositions, tokens_at({4, 2}, 1)}, {Dim::kHeadDim, {0}}}, {40, 20}));
  LocalArray out(LocalDims{{Dim::kPositions, tokens_at({2, 4}, 1)}, {Dim::kHeadDim, {0}}});
  cache.get(name, out);
  CHECK(out.values == std::vector<float>{20, 40});
  out.dims[0].ids = tokens_at({2, 3}, 1);
  CHECK(failure_of([&] { cache.get(name, out); }) == "cached row (request 1, position 3) of cache_k is on another rank");
}

TEST_CASE("a transfer takes each element from its own rank, else from the first holder, and says what nobody has") {
  const Mesh mesh = *Mesh::refine(3, {1});
  const auto held = [](Ids ids) { return LocalDims{{Dim::kKvHeads, std::move(ids)}}; };
  TransferRequest request{mesh, DigitSet(DigitList{0}), {}, {held({0}), held({0}), held({1})}, {held({0, 1}), held({0}), held({1})}, "test"};
  const Transfer transfer = plan_transfer(request);
  CHECK(transfer.between(2, 0).size() == 1);
  CHECK(transfer.between(1, 0).empty());
  CHECK(transfer.between(0, 1).empty());
  CHECK(transfer.part == 1);
  request.before[2] = held({});
  CHECK(failure_of([&] { static_cast<void>(plan_transfer(request)); }) == "test: nobody in the group of rank 0 has its element kv_heads=1");
}

}  // namespace
}  // namespace shardplan
