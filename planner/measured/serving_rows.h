// Measured serving points: one row of a table each, and the question to the planner that it answers.
//
// Columns: model, hardware, engine, isl, osl, concurrency, gpus, tp, tpot_ms and ttft_ms must be there; engine_version,
// precision, dense_format, expert_format, kv_dtype, token_budget, memory_fraction, pp, dpa, moe_tp, ep, protocol,
// quality, id, measured_on (2025-10-29; tells the release where engine_version does not), output_tokens_per_second_per_gpu,
// peer_* may. Others are ignored.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/measured/csv_table.h"
#include "planner/plan.h"

namespace shardplan {

struct Observed {
  std::optional<double> ttft, tpot;  // seconds
  std::optional<double> throughput;  // output tokens/s/GPU
};

struct ServingRow {
  std::int64_t line = 0;
  std::string id, model, hardware, engine, version, precision, dense_format, expert_format, kv_dtype, protocol, quality, measured_on;
  std::int64_t isl = 0, osl = 0, concurrency = 0, gpus = 0, tp = 1, pp = 1, dpa = 1, moe_tp = 1, ep = 1;
  std::int64_t token_budget = 0;     // 0: the engine's
  double memory_fraction_ratio = 0;  // 0: the engine's
  Observed measured;
  Observed peer;  // what another planner says of the row
};

// Columns that prefix the widths of a pool, "prefill_" say, with names of their own; "" for the plain table.
[[nodiscard]] ServingRow read_serving_row(const CsvTable& table, const CsvRow& row, const std::string& pool);
// Refuses a malformed table whole.
[[nodiscard]] std::vector<ServingRow> read_serving_rows(const CsvTable& table);

// Whether what a row's client sent is on record; without a word on it the lengths are taken as they stand.
[[nodiscard]] bool protocol_is_known(const ServingRow& row);

// A row as the planner's question. Models, machines and formats are looked up: InputError naming line and column.
struct RowQuestion {
  PlanRequest request;  // its lengths are the nominal ones
  ParallelConfig config;
  bool knows_protocol = false;
};
[[nodiscard]] RowQuestion question_of(const ServingRow& row, const CsvTable& table);

}  // namespace shardplan
