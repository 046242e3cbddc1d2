// What the device's threads compute, run here thread by thread and held against the host's kernels.
#include <cmath>
#include <numeric>

#include "calibrate/cuda/operands.h"
#include "calibrate/cuda/thread_work.h"
#include "calibrate/kernels/elementwise.h"
#include "calibrate/kernels/rotary.h"
#include "tests/catch.h"

namespace shardplan::cuda {
namespace {

using Ids = std::vector<std::int64_t>;

Ids counted(std::int64_t count, std::int64_t first = 0) {
  Ids ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}
  float next() {  // in [-1, 1)
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<float>(state_ >> 40) / 8388608.0F - 1.0F;
  }
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>((next() + 1) / 2 * static_cast<float>(count)) % count;
  }

 private:
  std::uint64_t state_;
};

LocalArray random_array(LocalDims dims, Dice& dice) {
  LocalArray array(std::move(dims));
  for (float& x : array.values) x = dice.next();
  return array;
}

// As a block for each expert of 256 threads: see assign_slots in routing.cu.
struct Slots {
  std::vector<std::int32_t> slot;
  std::vector<std::int32_t> begins;
};
Slots assigned(const std::vector<std::int32_t>& experts, std::int64_t count) {
  constexpr std::int64_t kThreads = 256;
  Slots slots{std::vector<std::int32_t>(experts.size(), -2),
              std::vector<std::int32_t>(static_cast<std::size_t>(count + 1), -2)};
  for (std::int32_t e = 0; e < count; ++e) {
    std::int32_t next = 0;
    for (std::size_t i = 0; i < experts.size(); ++i) {
      next += experts[i] >= 0 && experts[i] < e ? 1 : 0;
      if (e == 0 && experts[i] < 0) slots.slot[i] = -1;
    }
    slots.begins[static_cast<std::size_t>(e)] = next;
    for (std::int64_t first = 0; first < std::ssize(experts); first += kThreads) {
      std::uint32_t ballots[kThreads / 32] = {};
      std::int32_t set = 0;
      const auto mine = [&](std::int64_t thread) {
        return first + thread < std::ssize(experts) && experts[static_cast<std::size_t>(first + thread)] == e;
      };
      for (std::int64_t t = 0; t < kThreads; ++t) {
        if (mine(t)) ballots[t / 32] |= 1U << static_cast<unsigned>(t % 32);
        set += mine(t) ? 1 : 0;
      }
      for (std::int64_t t = 0; t < kThreads; ++t) {
        if (mine(t))
          slots.slot[static_cast<std::size_t>(first + t)] =
              next + flags_before(ballots, static_cast<int>(t / 32), static_cast<int>(t % 32));
      }
      next += set;
    }
    if (e + 1 == count) slots.begins.back() = next;
  }
  return slots;
}

// As the blocks and threads of grouped_rows in routing.cu.
std::vector<float> grouped(const GroupedShape& shape, const std::vector<float>& x, const LocalArray& w,
                           const LocalArray* bias, const Slots& slots, std::int64_t rows) {
  constexpr std::int64_t kTile = 16;
  const std::int64_t experts = std::ssize(slots.begins) - 1;
  std::vector<float> out(static_cast<std::size_t>(rows * shape.n), std::nanf(""));
  for (std::int64_t block = 0; block < row_tiles(rows, experts, kTile); ++block) {
    const RowTile tile = row_tile(slots.begins.data(), experts, kTile, block);
    for (std::int64_t row = tile.rows.first; row < tile.rows.end; ++row) {
      REQUIRE(row < tile.rows.first + kTile);
      for (std::int64_t column = 0; column < shape.n; ++column) {
        float& number = out[static_cast<std::size_t>(row * shape.n + column)];
        REQUIRE(std::isnan(number));  // nobody else's
        number = grouped_number(shape, x.data(), w.values.data(), bias != nullptr ? bias->values.data() : nullptr,
                                tile.expert, row, column);
      }
    }
  }
  return out;
}

Activation activation_of(ElementFunction function) {
  return function == ElementFunction::kSilu      ? Activation::kSilu
         : function == ElementFunction::kSigmoid ? Activation::kSigmoid
                                                 : Activation::kRelu2;
}

// The whole way of a rank's tokens through its experts, as CudaKernels::experts goes it.
LocalArray through_experts(const LocalArray& x, const LocalArray& routing, const ExpertWeights& held,
                           const ExpertsOp& op, LocalArray out) {
  const ExpertPairs pairs = expert_pairs(x, routing, held, op, out);
  const Slots slots = assigned(pairs.experts, pairs.held);
  const std::int64_t hidden = held.weights.front()->columns();
  const std::int64_t width = std::ssize(held.weights.front()->ids(Dim::kFfn));
  REQUIRE(slots.begins.back() == pairs.rows);
  std::vector<float> permuted(static_cast<std::size_t>(pairs.rows * hidden));
  for (std::int64_t pair = 0; pair < std::ssize(pairs.experts); ++pair) {
    const std::int32_t slot = slots.slot[static_cast<std::size_t>(pair)];
    if (slot >= 0)
      std::copy_n(pairs.x.begin() + pair / op.per_token * hidden, hidden, permuted.begin() + slot * hidden);
  }
  const std::size_t last = held.weights.size() - 1;
  const auto bias = [&](std::size_t i) { return held.biases.empty() ? nullptr : held.biases[i]; };
  std::vector<float> middle = grouped({width, hidden}, permuted, *held.weights[0], bias(0), slots, pairs.rows);
  const std::vector<float> up =
      op.gated ? grouped({width, hidden}, permuted, *held.weights[last - 1], bias(last - 1), slots, pairs.rows)
               : std::vector<float>();
  for (std::size_t i = 0; i < middle.size(); ++i)
    middle[i] = activated(activation_of(op.function), middle[i]) * (op.gated ? up[i] : 1.0F);
  const std::vector<float> down = grouped({hidden, width}, middle, *held.weights[last], bias(last), slots, pairs.rows);
  for (std::int64_t token = 0; token < pairs.tokens; ++token) {
    for (std::int64_t c = 0; c < hidden; ++c) {
      const auto number = [&](std::int64_t row) { return down[static_cast<std::size_t>(row * hidden + c)]; };
      out.values[static_cast<std::size_t>(token * hidden + c)] =
          returned_number(number, slots.slot.data(), pairs.weights.data(), op.per_token, token);
    }
  }
  return out;
}

void check_close(const LocalArray& a, const LocalArray& b) {
  float most = 0;
  for (const float x : b.values) most = std::max(most, std::abs(x));
  REQUIRE(a.values.size() == b.values.size());
  for (std::size_t i = 0; i < a.values.size(); ++i) CHECK(std::abs(a.values[i] - b.values[i]) <= 5e-6F * most);
}

TEST_CASE("pairs of columns turn as the host turns them, an odd last one stays") {
  Dice dice(1);
  for (const std::int64_t columns : {2, 4, 5, 8}) {
    const LocalArray x = random_array({{Dim::kTokens, {token_id(0, 3), token_id(1, 0), token_id(1, 70'000)}},
                                       {Dim::kHeads, {2, 5}},
                                       {Dim::kHeadDim, counted(8)}},
                                      dice);
    LocalArray host(x.dims);
    rotary(x, columns, host);
    LocalArray device = x;
    const auto positions = row_positions(x);
    for (std::int64_t row = 0; row < x.rows(); ++row) {
      for (std::int64_t c = 0; c < columns / 2; ++c)
        turn_pair(device.values.data() + row * 8 + 8 - columns, columns, c, positions[static_cast<std::size_t>(row)]);
    }
    check_close(device, host);
  }
}

TEST_CASE("experts are chosen and weighed as the host's router does, ties included") {
  Dice dice(2);
  for (const bool renormalise : {true, false}) {
    for (const std::int64_t per_token : {1, 2, 6}) {
      const ExpertsOp op{.experts = 6, .per_token = per_token, .renormalise = renormalise};
      const LocalArray x = random_array({{Dim::kTokens, counted(20)}, {Dim::kHidden, counted(4)}}, dice);
      LocalArray w = random_array({{Dim::kExperts, counted(6)}, {Dim::kHidden, counted(4)}}, dice);
      std::copy_n(w.values.begin(), 4, w.values.begin() + 12);  // experts 0 and 3 always tie
      const LocalArray bias = random_array({{Dim::kExperts, counted(6)}}, dice);
      LocalArray host({{Dim::kTokens, counted(20)}, {Dim::kSelected, counted(per_token)}}, kRoutingWidth);
      route(x, {w, nullptr}, op, {}, host);
      LocalArray device = host;
      for (std::int64_t t = 0; t < 20; ++t) {
        float logits[6];
        for (std::int64_t e = 0; e < 6; ++e)
          logits[e] = grouped_number({6, 4}, x.values.data() + t * 4, w.values.data(), nullptr, 0, 0, e);
        std::int32_t chosen[6];
        float shares[6];
        choose_experts(logits, 6, per_token, chosen);
        expert_shares(logits, 6, chosen, per_token, renormalise, shares);
        for (std::int64_t j = 0; j < per_token; ++j) {
          const float* entry = host.values.data() + (t * per_token + j) * kRoutingWidth;
          CHECK(static_cast<float>(chosen[j]) == entry[0]);
          CHECK(shares[j] == Approx(entry[1]).epsilon(1e-5));
        }
      }
    }
  }
}

TEST_CASE("tokens go through permutation, products and return as through the host's experts") {
  Dice dice(3);
  for (const bool gated : {true, false}) {
    for (const bool biased : {true, false}) {
      for (const int spread : {0, 1, 2}) {  // over all experts; all tokens to one; none of them here
        const ElementFunction function = gated ? ElementFunction::kSilu : ElementFunction::kRelu2;
        const ExpertsOp op{.experts = 12, .per_token = spread == 0 ? 3 : 1, .gated = gated, .function = function};
        const Ids held{3, 4, 7, 8, 9};
        const Ids tokens = counted(150, 10);  // more pairs than a block has threads
        const LocalArray x = random_array({{Dim::kTokens, counted(170)}, {Dim::kHidden, counted(5)}}, dice);
        LocalArray routing({{Dim::kTokens, counted(170)}, {Dim::kSelected, counted(op.per_token)}}, kRoutingWidth);
        for (std::int64_t i = 0; i < routing.elements(); ++i) {
          const std::int64_t expert = spread == 0   ? (i / 3 * 5 + i % 3 * (1 + dice.below(2)) + dice.below(2)) % 12
                                      : spread == 1 ? 7
                                                    : 0;
          routing.values[static_cast<std::size_t>(2 * i)] = static_cast<float>(expert);
          routing.values[static_cast<std::size_t>(2 * i + 1)] = 0.5F + dice.next() / 4;
        }
        const LocalDims wide{{Dim::kExperts, held}, {Dim::kFfn, counted(3)}, {Dim::kHidden, counted(5)}};
        const LocalDims back{{Dim::kExperts, held}, {Dim::kHidden, counted(5)}, {Dim::kFfn, counted(3)}};
        std::vector<LocalArray> arrays;
        if (gated) arrays.push_back(random_array(wide, dice));
        arrays.push_back(random_array(wide, dice));
        arrays.push_back(random_array(back, dice));
        std::vector<LocalArray> biases;
        for (const LocalArray& array : arrays) biases.push_back(random_array(row_dims(array.dims), dice));
        ExpertWeights weights;
        for (const LocalArray& array : arrays) weights.weights.push_back(&array);
        for (const LocalArray& array : biases) weights.biases.push_back(&array);
        if (!biased)
          weights.biases.clear();
        else
          weights.biases.back() = nullptr;  // added on another rank
        const LocalArray zeros({{Dim::kTokens, tokens}, {Dim::kHidden, counted(5)}});
        LocalArray host = zeros;
        experts(x, routing, weights, op, host);
        INFO("gated " << gated << ", biased " << biased << ", spread " << spread);
        if (spread < 2) CHECK(std::any_of(host.values.begin(), host.values.end(), [](float v) { return v != 0; }));
        check_close(through_experts(x, routing, weights, op, zeros), host);
      }
    }
  }
}

TEST_CASE("tiles of grouped products cover each expert's rows once and no other's") {
  Dice dice(4);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::int32_t> begins{0};
    const std::int64_t experts = 1 + dice.below(9);
    for (std::int64_t e = 0; e < experts; ++e)
      begins.push_back(begins.back() + static_cast<std::int32_t>(dice.below(2) * dice.below(70)));
    const std::int64_t rows = begins.back();
    std::vector<int> covered(static_cast<std::size_t>(rows), 0);
    for (std::int64_t i = 0; i < row_tiles(rows, experts, 16); ++i) {
      const RowTile tile = row_tile(begins.data(), experts, 16, i);
      for (std::int64_t row = tile.rows.first; row < tile.rows.end; ++row) {
        ++covered[static_cast<std::size_t>(row)];
        CHECK((row >= begins[static_cast<std::size_t>(tile.expert)] &&
               row < begins[static_cast<std::size_t>(tile.expert) + 1]));
      }
    }
    CHECK(covered == std::vector<int>(covered.size(), 1));
  }
}

TEST_CASE("activations are the host's") {
  for (const auto function : {ElementFunction::kSilu, ElementFunction::kSigmoid, ElementFunction::kRelu2}) {
    for (const float x : {-90.0F, -2.0F, -0.0F, 0.5F, 3.0F, 90.0F})
      CHECK(activated(activation_of(function), x) == Approx(shardplan::apply(function, x)).epsilon(1e-6));
  }
}

TEST_CASE("the larger of entries is the same in any order, and the lower of equal ones") {
  Dice dice(5);
  for (int round = 0; round < 100; ++round) {
    std::vector<Entry> entries;
    for (std::int64_t i = 0; i < 9; ++i) entries.push_back({static_cast<float>(dice.below(4)), i});
    Entry one, other;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      one = larger(one, entries[i]);
      other = larger(entries[entries.size() - 1 - i], other);
    }
    const auto first = std::max_element(entries.begin(), entries.end(),
                                        [](const Entry& a, const Entry& b) { return a.value < b.value; });
    CHECK(one.index == first->index);
    CHECK(other.index == first->index);
  }
}

TEST_CASE("a device's choice is judged as the host's own: recorded, and held against the run that is followed") {
  const std::vector<float> scores{0.5F, 2.0F, 1.0F, 1.9F};
  ChoiceLog log;
  Chooser records{.op = "route", .record = &log};
  CHECK(records.choose(7, scores.data(), 4, Ids{1, 3}) == Ids{1, 3});
  REQUIRE(log.find(0, "route", 7) != nullptr);
  CHECK(*log.find(0, "route", 7) == Ids{1, 3});
  const Chooser follows{.op = "route", .follow = &log, .slack_ratio = 0.1};
  CHECK(follows.choose(7, scores.data(), 4, Ids{3, 1}) == Ids{1, 3});
  const std::vector<float> others{2.0F, 0.1F, 1.9F, 0.5F};  // 1 and 3 are far from the best here
  CHECK_THROWS(follows.choose(7, others.data(), 4, Ids{0, 2}));
  // A device that does not choose the best, though what is followed is good.
  CHECK_THROWS(follows.choose(7, scores.data(), 4, Ids{0, 2}));
  CHECK_THROWS(follows.choose(7, scores.data(), 4, Ids{1, 2}));
  CHECK_THROWS(follows.choose(7, scores.data(), 4, Ids{1, 1}));
  CHECK_THROWS(follows.choose(7, scores.data(), 4, Ids{1, 4}));
  const std::vector<float> ties{0.5F, 2.0F, 2.0F, 2.0F};
  CHECK(follows.choose(7, ties.data(), 4, Ids{2, 3}) == Ids{1, 3});
}

}  // namespace
}  // namespace shardplan::cuda
