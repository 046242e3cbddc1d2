// How far predictions are from measurements: over all rows, by group, and what the interval promises.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/measured/error_stats.h"
#include "planner/measured/prediction.h"

namespace shardplan {

struct QuantityErrors {
  ErrorStats ttft, tpot, throughput;
};

// One row with what was said of it.
struct Judged {
  Quantity3 predicted;
  Quantity3 spread;  // of logarithms; all 0: no interval
};

struct GroupErrors {
  std::string by, name;  // "engine", "vllm"
  std::int64_t rows = 0, predicted = 0;
  QuantityErrors errors;
  QuantityErrors peer;  // of those of the rows that the other planner predicts
};

// What a workload group's best rows are, and what ours would be: same model, machine, engine, precision and lengths.
struct RankQuality {
  std::int64_t groups = 0;
  std::int64_t held = 0;        // groups where the pick keeps the measured TPOT target
  double throughput_ratio = 0;  // of the pick against the best that keeps it, mean over groups where it is held
};

using RowFilter = std::function<bool(std::size_t)>;

[[nodiscard]] QuantityErrors errors_of(const std::vector<ServingRow>& rows, const std::vector<Judged>& judged,
                                       const RowFilter& counts);
[[nodiscard]] QuantityErrors peer_errors(const std::vector<ServingRow>& rows, const RowFilter& counts);

struct RowGrouping {
  const char* by;
  std::string (*name)(const ServingRow&);
};
[[nodiscard]] const std::vector<RowGrouping>& row_groupings();
// "MiniMax-M2.5, b200_sxm, vllm, fp8": rows that share kernels.
[[nodiscard]] std::string kernel_group(const ServingRow& row);

// Rows that are not `counts` are left out.
[[nodiscard]] std::vector<GroupErrors> group_errors(const std::vector<ServingRow>& rows,
                                                    const std::vector<PricedRow>& priced,
                                                    const std::vector<Judged>& judged, const RowFilter& counts);
inline constexpr double kCarefulPick = 0.8;  // confidence, as of --confidence
// `deviations` of TPOT's interval that the pick leaves to spare.
[[nodiscard]] RankQuality rank_quality(const std::vector<ServingRow>& rows, const std::vector<Judged>& judged,
                                       const RowFilter& counts, double deviations = 0);

}  // namespace shardplan
