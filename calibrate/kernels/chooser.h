// How an op that chooses among scores keeps its choices, or follows those of another run (see calibrate/choice_log.h).
#pragma once

#include <cstdint>
#include <vector>

#include "calibrate/choice_log.h"

namespace shardplan {

// Something to choose by its number: an expert, a token of the vocabulary, a position, a block of positions.
struct ScoredUnit {
  std::int64_t unit = 0;
  float score = 0;
};

struct Chooser {
  std::int64_t layer = 0;
  const char* op = "";
  ChoiceLog* record = nullptr;
  const ChoiceLog* follow = nullptr;
  ChoiceLog* widen = nullptr;  // of a run that follows whatever it costs, and tells
  double slack_ratio = 0;      // what a choice may be worse than the best, of the largest score

  // The `count` best of a token's scores, ties to the lower index; or the followed run's. InternalError when one of
  // those is worse than the worst of our own by more than the slack, or twice what widened the log.
  [[nodiscard]] std::vector<std::int64_t> choose(std::int64_t token, const float* scores, std::int64_t size,
                                                 std::int64_t count) const;
  // The same where a device has found the best: the `best` of the scores, best first. InternalError when another run is
  // followed and they are not the best.
  [[nodiscard]] std::vector<std::int64_t> choose(std::int64_t token, const float* scores, std::int64_t size,
                                                 const std::vector<std::int64_t>& best) const;
  // The same of units that come best first, all of them where there are fewer.
  [[nodiscard]] std::vector<std::int64_t> choose(std::int64_t token, const std::vector<ScoredUnit>& ranked,
                                                 std::size_t count) const;
  // Where ranks name candidates for a choice that follows another run: what that run chose must be among them.
  void move_followed_first(std::int64_t token, std::vector<ScoredUnit>& ranked) const;
};

}  // namespace shardplan
