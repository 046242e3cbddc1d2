// Measured rows by simulation of the benchmark that measured them, instead of the closed form.
#pragma once

#include <functional>
#include <vector>

#include "planner/measured/prediction.h"

namespace shardplan {

struct SimulatedRow {
  bool simulated = false;  // false: illegal, or the ledger holds not even one request
  Quantity3 of;            // means over requests; throughput by Little's law, as the tables derive it
  double kv_demand_ratio = 0;
};

// One result for each row, whatever the number of threads. `times`: nullptr: as shipped.
[[nodiscard]] std::vector<SimulatedRow> simulate_rows(const std::vector<ServingRow>& rows, const CsvTable& table,
                                                      const std::shared_ptr<const EngineTimesTable>& times);

// For a fit (FitOptions::predict): the rows of `use` whose protocol is known are simulated, all others are left at 0.
// `rows` and `table` must outlive it.
[[nodiscard]] std::function<std::vector<Quantity3>(const EngineTimesTable&)> simulated_predictor(
    const std::vector<ServingRow>& rows, const CsvTable& table, const std::vector<std::size_t>& use);

}  // namespace shardplan
