// Published figures of serving deployments, one metric a row: read as serving rows, predicted the planner's way.
//
// Columns: hw, gpus, engine, engine_version, model, weight_dtype, kv_dtype, tp, pp, dp_attention, ep, isl, osl,
// concurrency_or_batch, serving_mode, measured_metric, value, unit. Metrics of the steady state are understood: TPOT
// and TTFT (mean or median), tokens/s/user, output and total throughput of a GPU or of the whole instance. "saturated"
// is as many requests as the deployment holds. What a closed form does not answer is left out and counted: separate
// pools, speculation, percentiles, ratios, lengths that are no numbers.
#pragma once

#include "planner/measured/csv_table.h"
#include "planner/measured/point_report.h"
#include "planner/measured/serving_points.h"
#include "planner/measured/serving_rows.h"

namespace shardplan {

struct PublishedRow {
  ServingRow serving;
  SteadyQuantity quantity = SteadyQuantity::kOutputPerGpu;
  double value = 0;    // in its unit
  std::string source;  // "trtpo" of its id
  bool saturated = false;
  bool stated = true;  // false: how experts or attention were split is not on record
};

struct PublishedRows {
  std::vector<PublishedRow> rows;
  std::map<std::string, std::int64_t> left_out;
};

// InputError naming line and column for a cell that is malformed; the table is refused whole.
[[nodiscard]] PublishedRows read_published_rows(const CsvTable& table);
[[nodiscard]] PointReport validate_published(const CsvTable& table, const EngineTimesTable& times, std::size_t worst);

}  // namespace shardplan
