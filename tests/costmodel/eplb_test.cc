#include "costmodel/eplb.h"

#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

#include "base/errors.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

using Indices = std::vector<std::int64_t>;
using Lists = std::vector<Indices>;

const std::vector<double> kFirstLayer = {90, 132, 40, 61, 104, 165, 39, 4, 73, 56, 183, 86};
const std::vector<double> kSecondLayer = {20, 107, 104, 64, 19, 197, 187, 157, 172, 86, 16, 27};

// 12 experts, 16 slots, 2 nodes, 8 ranks: the example of the published algorithm.
EplbPlacement place(const std::vector<double>& loads, std::int64_t groups) {
  return place_experts({.loads = loads, .slots = 16, .ranks = 8, .groups = groups, .nodes = 2});
}

TEST_CASE("Hierarchical placement reproduces the published example, first layer") {
  const EplbPlacement placement = place(kFirstLayer, 4);
  CHECK(placement.slot_expert == Indices{5, 6, 5, 7, 8, 4, 3, 4, 10, 9, 10, 2, 0, 1, 11, 1});
  CHECK(placement.replicas == Indices{1, 2, 1, 1, 2, 2, 1, 1, 1, 1, 2, 1});
  CHECK(placement.expert_slots == Lists{{12}, {15, 13}, {11}, {6}, {7, 5}, {0, 2}, {1}, {3}, {4}, {9}, {8, 10}, {14}});
  CHECK(placement.rank_load == std::vector<double>{121.5, 86.5, 125, 113, 147.5, 131.5, 156, 152});
}

TEST_CASE("Hierarchical placement reproduces the published example, second layer") {
  const EplbPlacement placement = place(kSecondLayer, 4);
  CHECK(placement.slot_expert == Indices{7, 10, 6, 8, 6, 11, 8, 9, 2, 4, 5, 1, 5, 0, 3, 1});
  CHECK(placement.replicas == Indices{1, 2, 1, 1, 1, 2, 2, 1, 2, 1, 1, 1});
  CHECK(placement.expert_slots == Lists{{13}, {15, 11}, {8}, {14}, {9}, {10, 12}, {2, 4}, {0}, {6, 3}, {7}, {1}, {5}});
  CHECK(placement.rank_load == std::vector<double>{173, 179.5, 120.5, 172, 123, 152, 118.5, 117.5});
}

TEST_CASE("Groups that do not divide over the nodes are placed globally") {
  const EplbPlacement first = place(kFirstLayer, 3);
  CHECK(first.slot_expert == Indices{10, 6, 10, 7, 0, 2, 11, 4, 5, 9, 5, 4, 8, 3, 1, 1});
  CHECK(first.expert_slots == Lists{{4}, {14, 15}, {5}, {13}, {11, 7}, {8, 10}, {1}, {3}, {12}, {9}, {0, 2}, {6}});
  CHECK(first.rank_load == std::vector<double>{130.5, 95.5, 130, 138, 138.5, 134.5, 134, 132});
  const EplbPlacement second = place(kSecondLayer, 3);
  CHECK(second.slot_expert == Indices{1, 10, 2, 4, 5, 11, 5, 0, 6, 7, 6, 3, 8, 8, 9, 7});
  CHECK(second.expert_slots == Lists{{7}, {0}, {2}, {11}, {3}, {4, 6}, {8, 10}, {15, 9}, {12, 13}, {14}, {1}, {5}});
  CHECK(second.rank_load == std::vector<double>{123, 123, 125.5, 118.5, 172, 157.5, 172, 164.5});
}

TEST_CASE("Four spare slots bring the busiest of four ranks from 120 to 50") {
  EplbRequest request{.loads = {120, 40, 20, 20}, .slots = 4, .ranks = 4};
  const EplbPlacement before = place_experts(request);
  CHECK(*std::max_element(before.rank_load.begin(), before.rank_load.end()) == 120);
  request.slots = 8;
  const EplbPlacement after = place_experts(request);
  CHECK(after.replicas == Indices{4, 2, 1, 1});
  CHECK(*std::max_element(after.rank_load.begin(), after.rank_load.end()) == Approx(50));
}

TEST_CASE("Every slot holds an expert, every expert knows its slots, and load is kept") {
  CHECK(rc::check([] {
    const auto ranks = *rc::gen::inRange<std::int64_t>(1, 6);
    const auto per_rank = *rc::gen::inRange<std::int64_t>(1, 6);
    const auto experts = *rc::gen::inRange<std::int64_t>(1, ranks * per_rank + 1);
    const auto loads =
        *rc::gen::container<std::vector<int>>(static_cast<std::size_t>(experts), rc::gen::inRange(0, 1000));
    const auto groups = *rc::gen::inRange<std::int64_t>(1, 5);
    const auto nodes = *rc::gen::inRange<std::int64_t>(1, 4);
    EplbRequest request{.loads = {loads.begin(), loads.end()},
                        .slots = ranks * per_rank,
                        .ranks = ranks,
                        .groups = groups,
                        .nodes = nodes};
    const EplbPlacement placement = place_experts(request);
    RC_ASSERT(std::accumulate(placement.replicas.begin(), placement.replicas.end(), std::int64_t{0}) == request.slots);
    for (std::int64_t e = 0; e < experts; ++e) {
      const auto& slots = placement.expert_slots[static_cast<std::size_t>(e)];
      RC_ASSERT(std::ssize(slots) == placement.replicas[static_cast<std::size_t>(e)]);
      for (const std::int64_t slot : slots) RC_ASSERT(placement.slot_expert[static_cast<std::size_t>(slot)] == e);
    }
    const double placed = std::accumulate(placement.rank_load.begin(), placement.rank_load.end(), 0.0);
    RC_ASSERT(placed == Approx(std::accumulate(loads.begin(), loads.end(), 0.0)));
  }));
}

TEST_CASE("Slots that do not divide over the ranks, or too few, are our fault") {
  CHECK_THROWS_AS(place_experts({.loads = {1, 2, 3}, .slots = 3, .ranks = 2}), InternalError);
  CHECK_THROWS_AS(place_experts({.loads = {1, 2, 3}, .slots = 2, .ranks = 2}), InternalError);
  CHECK_THROWS_AS(place_experts({.loads = {}, .slots = 2, .ranks = 2}), InternalError);
}

}  // namespace
}  // namespace shardplan
