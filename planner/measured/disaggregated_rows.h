// Measured points of separate prefill and decode pools: one row of a table each, predicted by simulation.
//
// Columns beside those of serving_rows.h (without tp, pp, dpa, moe_tp, ep): prefill_num_workers, prefill_tp_size,
// prefill_pp_size, prefill_attention_dp_size, prefill_moe_tp_size, prefill_moe_ep_size and the same for decode;
// gemm_quant_mode and moe_quant_mode are the formats of dense and expert weights. Each pool is simulated with the
// benchmark's closed loop, caches moving over the machine's links. Wrong: speculation is not on record, and not assumed.
#pragma once

#include <vector>

#include "planner/measured/simulated_rows.h"

namespace shardplan {

struct DisaggregatedRow {
  ServingRow prefill;
  ServingRow decode;   // the row's measurements are here, and in `prefill` too
};

[[nodiscard]] bool is_disaggregated(const CsvTable& table);
// Refuses a malformed table whole; rows without a concurrency are left out.
[[nodiscard]] std::vector<DisaggregatedRow> read_disaggregated_rows(const CsvTable& table);
// One result for each row, whatever the number of threads. `times`: nullptr: as shipped.
[[nodiscard]] std::vector<SimulatedRow> simulate_disaggregated(const std::vector<DisaggregatedRow>& rows, const CsvTable& table,
                                                               const std::shared_ptr<const EngineTimesTable>& times);

}  // namespace shardplan
