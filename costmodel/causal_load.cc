#include "costmodel/causal_load.h"

#include <algorithm>
#include <array>

#include "base/errors.h"

namespace shardplan {
namespace {

using Count = std::int64_t;

struct Range {
  Count begin = 0;
  Count end = 0;
  [[nodiscard]] Count size() const { return end - begin; }
};

Count keys_end(const CausalTask& task) { return task.prefix + task.new_tokens; }

// A window as wide as all keys is none.
Count window_of(const CausalTask& task) {
  return task.window > 0 ? std::min(task.window, keys_end(task)) : keys_end(task);
}

// --- Ranges of positions (kBlocked, kZigzag) --------------------------------------------------------------

// sum over x in [begin, end) of clamp(x, 0, top), top >= 0.
Count clamped_sum(Count begin, Count end, Count top) {
  const auto below = [top](Count x) {  // sum over [0, x)
    const Count ramp = std::clamp<Count>(x, 0, top);
    return ramp * (ramp - 1) / 2 + top * std::max<Count>(0, x - top);
  };
  return below(end) - below(begin);
}

// Query i sees keys [max(0, i+1-w), i+1), of which clamp(i+1, 0, b) - clamp(i+1-w, 0, b) are below b.
Count causal_pairs_below(Range queries, Count window, Count bound) {
  return clamped_sum(queries.begin + 1, queries.end + 1, bound) -
         clamped_sum(queries.begin + 1 - window, queries.end + 1 - window, bound);
}

Count range_pairs(const CausalTask& task, Range queries, Range keys) {
  if (!task.causal) return queries.size() * keys.size();
  if (queries.size() == 0 || keys.size() == 0 || keys.begin >= queries.end) return 0;
  const Count window = window_of(task);
  return causal_pairs_below(queries, window, keys.end) - causal_pairs_below(queries, window, keys.begin);
}

// The queries of a rank, which are also its fresh keys: one block, or two.
std::array<Range, 2> blocks_of(const CausalTask& task, Count rank) {
  const auto block = [&task](Count index, Count blocks) {
    return Range{task.prefix + index * task.new_tokens / blocks, task.prefix + (index + 1) * task.new_tokens / blocks};
  };
  if (task.layout != Layout::kZigzag) return {block(rank, task.parts), Range{}};
  return {block(rank, 2 * task.parts), block(2 * task.parts - 1 - rank, 2 * task.parts)};
}

Count block_pairs(const CausalTask& task, Count rank, Range keys) {
  Count pairs = 0;
  for (const Range queries : blocks_of(task, rank)) pairs += range_pairs(task, queries, keys);
  return pairs;
}

Count block_step_pairs(const CausalTask& task, Count rank, Count owner, bool with_prefix) {
  Count pairs = with_prefix ? block_pairs(task, rank, {0, task.prefix}) : 0;
  for (const Range keys : blocks_of(task, owner)) pairs += block_pairs(task, rank, keys);
  return pairs;
}

// --- Stripes (kStriped): the positions i with (i / I) mod P == r --------------------------------------------

struct Stripes {
  Count interleave = 1;
  Count parts = 1;
  Count rank = 0;

  [[nodiscard]] Count cycle() const { return interleave * parts; }
  // Own positions in the cycle that x lies in, below x.
  [[nodiscard]] Count in_last_cycle(Count x) const {
    return std::clamp<Count>(x % cycle() - rank * interleave, 0, interleave);
  }
  // Own positions in [0, x), and the sum of i+1 over them.
  [[nodiscard]] Count count_below(Count x) const { return x / cycle() * interleave + in_last_cycle(x); }
  [[nodiscard]] Count sum_below(Count x) const {
    const Count cycles = x / cycle();
    const Count first = rank * interleave;
    const Count rest = in_last_cycle(x);
    const Count whole = interleave * (cycle() * (cycles * (cycles - 1) / 2) + cycles * first) +
                        cycles * (interleave * (interleave + 1) / 2);
    return whole + rest * (cycles * cycle() + first) + rest * (rest + 1) / 2;
  }
  [[nodiscard]] Count count(Range range) const { return count_below(range.end) - count_below(range.begin); }
  [[nodiscard]] Count sum(Range range) const { return sum_below(range.end) - sum_below(range.begin); }
};

Stripes stripes_of(const CausalTask& task, Count rank) { return {task.interleave, task.parts, rank}; }

Count floor_divide(Count a, Count b) { return a / b - (a % b < 0 ? 1 : 0); }

// sum over the stripes' i in [0, x) of keys.count_below(i+1-shift). In cycle t the argument is t cycles further on,
// so every cycle adds the same sum plus t * I * I. Negative arguments extend periodically: use differences only.
Count key_sum_below(const Stripes& queries, const Stripes& keys, Count x, Count shift) {
  const Count cycle = queries.cycle();
  const Count interleave = queries.interleave;
  const Count origin = queries.rank * interleave + 1 - shift;  // argument of the first query of cycle 0
  const Count origin_cycle = floor_divide(origin, cycle);
  const Count offset = origin - origin_cycle * cycle - keys.rank * interleave;
  const auto partial = [&](Count n) {  // first n queries of a cycle, keys of this cycle and the next
    return clamped_sum(offset, offset + n, interleave) + clamped_sum(offset - cycle, offset - cycle + n, interleave);
  };
  const Count cycles = x / cycle;
  const Count rest = queries.in_last_cycle(x);
  const Count whole =
      interleave * interleave * (cycles * (cycles - 1) / 2 + cycles * origin_cycle) + cycles * partial(interleave);
  return whole + rest * interleave * (cycles + origin_cycle) + partial(rest);
}

// Pairs of the rank's queries with all keys from `base` on (0, or the prefix): min(i+1-base, w) each.
Count striped_pairs_from(const CausalTask& task, Count rank, Count base) {
  const Stripes own = stripes_of(task, rank);
  const Range all = {task.prefix, keys_end(task)};
  if (!task.causal) return own.count(all) * (all.end - base);
  const Count window = window_of(task);
  const Count full = std::clamp(base + window, all.begin, all.end);  // from here on the window is full
  const Range growing = {all.begin, full};
  return own.sum(growing) - base * own.count(growing) + window * own.count({full, all.end});
}

Count striped_fresh_pairs(const CausalTask& task, Count rank, Count owner) {
  const Stripes own = stripes_of(task, rank);
  const Stripes keys = stripes_of(task, owner);
  const Range all = {task.prefix, keys_end(task)};
  if (!task.causal) return own.count(all) * keys.count(all);
  const Count window = window_of(task);
  const Count sliding =
      std::clamp(task.prefix + window - 1, all.begin, all.end);  // first query that misses a fresh key
  const auto key_sum = [&](Range queries, Count shift) {
    return key_sum_below(own, keys, queries.end, shift) - key_sum_below(own, keys, queries.begin, shift);
  };
  return key_sum(all, 0) - keys.count_below(task.prefix) * own.count({all.begin, sliding}) -
         key_sum({sliding, all.end}, window);
}

Count striped_step_pairs(const CausalTask& task, Count rank, Count owner, bool with_prefix) {
  const Count cached =
      with_prefix ? striped_pairs_from(task, rank, 0) - striped_pairs_from(task, rank, task.prefix) : 0;
  return cached + striped_fresh_pairs(task, rank, owner);
}

void check(const CausalTask& task) {
  ensure(task.parts >= 1 && task.new_tokens >= 0 && task.prefix >= 0 && task.interleave >= 1,
         "causal task out of range");
  ensure(task.layout != Layout::kByRequest && task.layout != Layout::kWhole, "not a context-parallel layout");
}

}  // namespace

double rank_pairs(const CausalTask& task, std::int64_t rank) {
  check(task);
  if (task.layout == Layout::kStriped) return static_cast<double>(striped_pairs_from(task, rank, 0));
  return static_cast<double>(block_pairs(task, rank, {0, keys_end(task)}));
}

double step_pairs(const CausalTask& task, std::int64_t rank, std::int64_t step) {
  check(task);
  const Count owner = (rank - step % task.parts + task.parts) % task.parts;
  const bool with_prefix = step == 0;
  const auto pairs = task.layout == Layout::kStriped ? striped_step_pairs : block_step_pairs;
  return static_cast<double>(pairs(task, rank, owner, with_prefix));
}

double busiest_pairs(const CausalTask& task) {
  double most = 0;
  for (Count rank = 0; rank < task.parts; ++rank) most = std::max(most, rank_pairs(task, rank));
  return most;
}

double ring_pairs(const CausalTask& task) {
  double sum = 0;
  for (Count step = 0; step < task.parts; ++step) {
    double most = 0;
    for (Count rank = 0; rank < task.parts; ++rank) most = std::max(most, step_pairs(task, rank, step));
    sum += most;
  }
  return sum;
}

double total_pairs(const CausalTask& task) {
  check(task);
  return static_cast<double>(range_pairs(task, {task.prefix, keys_end(task)}, {0, keys_end(task)}));
}

}  // namespace shardplan
