// A table of measured serving points judged: what `shardplan validate` prints.
#pragma once

#include <string>
#include <vector>

#include "planner/measured/accuracy.h"
#include "planner/measured/folds.h"

namespace shardplan {

struct ValidateReport {
  std::string file;
  std::vector<ServingRow> rows;
  std::vector<PricedRow> priced;
  std::vector<Judged> judged;
  std::int64_t legal = 0, predicted = 0;
  std::int64_t left_out = 0;   // rows of other qualities than those asked for
  QuantityErrors overall;      // rows whose cache holds the concurrency
  QuantityErrors apart;        // those whose cache cannot
  bool by_simulation = false;  // predicted so; then `simulated` of the rows were, the others by the closed form
  std::int64_t simulated = 0;
  QuantityErrors analytic, analytic_apart;  // the closed form's, of the same rows
  // By simulation, where some rows say what their client sent and others do not: the rows above are those that do.
  bool splits_protocols = false;
  QuantityErrors guessed, guessed_apart;  // of those that do not
  std::int64_t apart_count = 0;
  QuantityErrors peer, ours_beside_peer;  // on the rows that the other planner predicts, all of them
  std::vector<GroupErrors> groups;
  RankQuality rank, peer_rank;
  RankQuality careful_rank;  // of picks that hold the target with kCarefulPick
  std::vector<FoldLine> folds;     // when asked for
  std::vector<std::size_t> worst;  // by TPOT, worst first
};

struct ValidateOptions {
  std::string qualities;                    // "A,B"; empty: all
  const EngineTimesTable* times = nullptr;  // nullptr: as shipped
  bool folds = false;
  std::size_t worst = 10;
  bool simulate = false;  // by simulation of each row's benchmark
};

// InputError on a malformed table.
[[nodiscard]] ValidateReport validate_serving(const CsvTable& table, const ValidateOptions& options);
// Rows of the qualities asked for.
[[nodiscard]] std::vector<ServingRow> rows_of_quality(const std::vector<ServingRow>& rows,
                                                      const std::string& qualities);

}  // namespace shardplan
