#include "costmodel/causal_load.h"

#include <rapidcheck.h>

#include <algorithm>

#include "base/errors.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

std::vector<double> pairs_of_ranks(const CausalTask& task) {
  std::vector<double> pairs;
  for (std::int64_t rank = 0; rank < task.parts; ++rank) pairs.push_back(rank_pairs(task, rank));
  return pairs;
}

// The rank that holds position `i`, by the definition of each layout.
std::int64_t owner_of(const CausalTask& task, std::int64_t i) {
  if (task.layout == Layout::kStriped) return i / task.interleave % task.parts;
  const std::int64_t blocks = task.layout == Layout::kZigzag ? 2 * task.parts : task.parts;
  std::int64_t block = 0;
  while (i - task.prefix >= (block + 1) * task.new_tokens / blocks) ++block;
  return block < task.parts ? block : blocks - 1 - block;
}

bool sees(const CausalTask& task, std::int64_t query, std::int64_t key) {
  if (!task.causal) return true;
  return key <= query && (task.window == 0 || key > query - task.window);
}

double brute_step(const CausalTask& task, std::int64_t rank, std::int64_t step) {
  const std::int64_t source = ((rank - step) % task.parts + task.parts) % task.parts;
  double pairs = 0;
  for (std::int64_t i = task.prefix; i < task.prefix + task.new_tokens; ++i) {
    if (owner_of(task, i) != rank) continue;
    for (std::int64_t j = 0; j < task.prefix + task.new_tokens; ++j) {
      const bool present = j < task.prefix ? step == 0 : owner_of(task, j) == source;
      pairs += present && sees(task, i, j) ? 1 : 0;
    }
  }
  return pairs;
}

CausalTask any_task() {
  CausalTask task;
  task.layout = *rc::gen::element(Layout::kBlocked, Layout::kZigzag, Layout::kStriped);
  task.parts = *rc::gen::inRange<std::int64_t>(1, 6);
  task.new_tokens = *rc::gen::inRange<std::int64_t>(0, 40);
  task.prefix = *rc::gen::inRange<std::int64_t>(0, 30);
  task.window = *rc::gen::inRange<std::int64_t>(0, 50);
  task.interleave = *rc::gen::inRange<std::int64_t>(1, 6);
  task.causal = *rc::gen::inRange(0, 5) > 0;
  return task;
}

TEST_CASE("32 tokens on 4 ranks: zigzag balances, contiguous does not, striped nearly does") {
  CausalTask task{.parts = 4, .new_tokens = 32};
  task.layout = Layout::kZigzag;
  CHECK(pairs_of_ranks(task) == std::vector<double>{132, 132, 132, 132});
  task.layout = Layout::kBlocked;
  CHECK(pairs_of_ranks(task) == std::vector<double>{36, 100, 164, 228});
  task.layout = Layout::kContiguous;
  CHECK(pairs_of_ranks(task) == std::vector<double>{36, 100, 164, 228});
  task.layout = Layout::kStriped;
  CHECK(pairs_of_ranks(task) == std::vector<double>{120, 128, 136, 144});
  CHECK(busiest_pairs(task) == 144);
  CHECK(total_pairs(task) == 32 * 33 / 2);
}

TEST_CASE("A contiguous ring is P/(2P-1) efficient on long prompts, zigzag 1, striped nearly 1") {
  for (const std::int64_t parts : {2, 4, 8}) {
    CausalTask task{.parts = parts, .new_tokens = 10'000'000};
    const double ideal = total_pairs(task) / static_cast<double>(parts);
    task.layout = Layout::kBlocked;
    const auto p = static_cast<double>(parts);
    CHECK(ideal / ring_pairs(task) == Approx(p / (2 * p - 1)).epsilon(1e-4));
    CHECK(ideal / busiest_pairs(task) == Approx(p / (2 * p - 1)).epsilon(1e-4));
    task.layout = Layout::kZigzag;
    CHECK(ideal / ring_pairs(task) == Approx(1).epsilon(1e-4));
    task.layout = Layout::kStriped;
    CHECK(ideal / ring_pairs(task) == Approx(1).epsilon(1e-4));
  }
}

TEST_CASE("Striped ranks differ by at most (P-1)*S/P pairs") {
  const CausalTask task{.layout = Layout::kStriped, .parts = 8, .new_tokens = 4096};
  CHECK(rank_pairs(task, 7) - rank_pairs(task, 0) == 7 * 4096 / 8);
}

TEST_CASE("A decode token is one query over its whole context, or its window") {
  CausalTask task{.new_tokens = 1, .prefix = 999};
  CHECK(rank_pairs(task, 0) == 1000);
  task.window = 128;
  CHECK(rank_pairs(task, 0) == 128);
}

TEST_CASE("Every step of every rank equals a count of pairs one by one") {
  CHECK(rc::check([] {
    const CausalTask task = any_task();
    const auto rank = *rc::gen::inRange<std::int64_t>(0, task.parts);
    for (std::int64_t step = 0; step < task.parts; ++step)
      RC_ASSERT(step_pairs(task, rank, step) == brute_step(task, rank, step));
  }));
}

TEST_CASE("Steps add up to the rank's pairs, and ranks to the unsharded pairs") {
  CHECK(rc::check([] {
    const CausalTask task = any_task();
    double all = 0;
    for (std::int64_t rank = 0; rank < task.parts; ++rank) {
      double steps = 0;
      for (std::int64_t step = 0; step < task.parts; ++step) steps += step_pairs(task, rank, step);
      RC_ASSERT(steps == rank_pairs(task, rank));
      all += steps;
    }
    RC_ASSERT(all == total_pairs(task));
    RC_ASSERT(ring_pairs(task) >= busiest_pairs(task));
  }));
}

TEST_CASE("A window as wide as the context is no window") {
  CHECK(rc::check([] {
    CausalTask task = any_task();
    task.window = task.prefix + task.new_tokens + *rc::gen::inRange<std::int64_t>(0, 5);
    CausalTask open = task;
    open.window = 0;
    RC_ASSERT(pairs_of_ranks(task) == pairs_of_ranks(open));
  }));
}

TEST_CASE("A layout that context parallelism does not have is our fault") {
  CHECK_THROWS_AS(rank_pairs({.layout = Layout::kByRequest}, 0), InternalError);
}

}  // namespace
}  // namespace shardplan
