// The passes over tables: enumerate, screen, cost. What is found and what is refused, for one request.
//
// Tables are costed in batches of a fixed size, best bound first; the bar moves between batches only, so that the
// result does not depend on the number of threads.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "planner/search/cost.h"

namespace shardplan {

class TableSearch {
 public:
  // Both must outlive it. With `most_tables` the search stops early: good enough for a front, not for a winner.
  TableSearch(const PlanRequest& request, const CollectivePricer& collectives,
              std::size_t most_tables = std::numeric_limits<std::size_t>::max())
      : request_(request), collectives_(collectives), most_tables_(most_tables) {}

  // Counts and times go to `stats`.
  void run(SearchStats& stats);

  [[nodiscard]] const std::vector<Costed>& found() const { return found_; }  // best first
  [[nodiscard]] RejectionTally& refused() { return refused_; }

 private:
  void screen(SearchStats& stats);
  void cost(SearchStats& stats);
  void merge_found(std::vector<TableCost>& costs, SearchStats& stats);
  [[nodiscard]] std::optional<RankKey> bar() const;

  const PlanRequest& request_;
  const CollectivePricer& collectives_;
  std::size_t most_tables_;
  std::vector<ScreenedTable> tables_;  // with a chance, best bound first
  std::vector<Costed> found_;
  RejectionTally refused_;
};

}  // namespace shardplan
