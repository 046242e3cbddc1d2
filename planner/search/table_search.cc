#include "planner/search/table_search.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <iterator>

#include "base/progress.h"
#include "planner/search/enumerate.h"
#include "planner/search/passes.h"
#include "planner/search/select.h"

namespace shardplan {
namespace {

constexpr std::size_t kBatch = 64;  // tables costed between two looks at the bar

}  // namespace

void TableSearch::run(SearchStats& stats) {
  screen(stats);
  cost(stats);
}

void TableSearch::screen(SearchStats& stats) {
  std::vector<ParallelConfig> tables;
  {
    const PassTimer timer(stats, "enumerate");
    tables = enumerate_tables(request_);
  }
  const PassTimer timer(stats, "screen");
  const RequestBound bound(request_, collectives_);
  const ScreenContext context{request_, bound, weight_parts(request_.model)};
  std::vector<ScreenedTable> screened(tables.size());
  tbb::parallel_for(std::size_t{0}, tables.size(),
                    [&](std::size_t i) { screened[i] = screen_table(context, tables[i]); });
  for (ScreenedTable& table : screened) {
    stats.considered += table.considered;
    stats.legal += table.legal;
    refused_.merge(table.refused);
    if (!table.depths.empty()) tables_.push_back(std::move(table));
  }
  std::stable_sort(tables_.begin(), tables_.end(),
                   [](const ScreenedTable& a, const ScreenedTable& b) { return ranks_before(a.bound, b.bound); });
  if (tables_.size() > most_tables_) tables_.resize(most_tables_);
}

// The rank that a configuration must beat to be among the plans: the last kept one's.
std::optional<RankKey> TableSearch::bar() const {
  const auto top = static_cast<std::size_t>(std::max<std::int64_t>(1, request_.top));
  if (!is_on(request_, "bound") || found_.size() < top) return std::nullopt;
  return found_[top - 1].key;
}

void TableSearch::cost(SearchStats& stats) {
  const PassTimer timer(stats, "cost");
  const CostContext context = cost_context(request_, collectives_);
  Progress progress("search: layouts", std::ssize(tables_));
  for (std::size_t from = 0; from < tables_.size(); from += kBatch) {
    const std::size_t count = std::min(kBatch, tables_.size() - from);
    const auto now = bar();
    std::vector<TableCost> costs(count);
    tbb::parallel_for(std::size_t{0}, count,
                      [&](std::size_t i) { costs[i] = cost_table(context, tables_[from + i], now); });
    merge_found(costs, stats);
    progress.advance(static_cast<std::int64_t>(count));
  }
}

// In the order of the batch; among equals what was found earlier stays ahead.
void TableSearch::merge_found(std::vector<TableCost>& costs, SearchStats& stats) {
  std::vector<Costed> fresh;
  for (TableCost& cost : costs) {
    stats.fitting += cost.fitting;
    stats.priced += cost.priced;
    std::move(cost.found.begin(), cost.found.end(), std::back_inserter(fresh));
    refused_.merge(cost.refused);
  }
  rank(fresh);
  const auto middle = static_cast<std::ptrdiff_t>(found_.size());
  std::move(fresh.begin(), fresh.end(), std::back_inserter(found_));
  std::inplace_merge(found_.begin(), found_.begin() + middle, found_.end(),
                     [](const Costed& a, const Costed& b) { return ranks_before(a.key, b.key); });
}

}  // namespace shardplan
