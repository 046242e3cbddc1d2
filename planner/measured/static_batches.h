// Measured static batches: prompts of one length that start together, decoded to the end, nothing following.
//
// Columns: model, hardware, tensor_parallel, prompt_size, batch_size, token_size, and the times in milliseconds
// prompt_ms_median (or prompt_time_ms) and token_ms_median (or token_time_ms): the prefill of the whole batch, and one
// decode step. The engines that such tables come from launch every kernel from the host, in decode steps too; their
// times are those of the engine "early" in planner/engine_times/early.json. A step is then
//   max4(kernels, layers*launch) + step + batch*sequence
#pragma once

#include "planner/measured/csv_table.h"
#include "planner/measured/fit.h"
#include "planner/measured/point_report.h"

namespace shardplan {

struct StaticBatches {
  std::vector<ServingRow> rows;  // concurrency: the batch
  std::vector<PricedRow> priced;
};

// InputError naming line and column for a cell that is malformed; the table is refused whole.
[[nodiscard]] StaticBatches read_static_batches(const CsvTable& table);
// `base` with the times of the engine "early", as shipped.
[[nodiscard]] EngineTimesTable early_engine_times(const EngineTimesTable& base);
// The overlay that early.json is, fitted on the rows of `use`: what `calibrate fit --serving` writes of such a table.
[[nodiscard]] EngineTimesTable fit_early_engine(const StaticBatches& batches, const std::vector<std::size_t>& use,
                                                const EngineTimesTable& base);
// With `folds`, also errors of each half of the rows by times fitted on the other half.
[[nodiscard]] PointReport validate_static_batches(const CsvTable& table, const EngineTimesTable& base, bool folds,
                                                  std::size_t worst);

}  // namespace shardplan
