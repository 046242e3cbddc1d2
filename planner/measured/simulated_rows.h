// Measured rows by simulation of the benchmark that measured them, instead of the closed form.
#pragma once

#include <vector>

#include "planner/measured/prediction.h"

namespace shardplan {

struct SimulatedRow {
  bool simulated = false;   // false: illegal, or the ledger holds not even one request
  Quantity3 of;             // means over requests; throughput by Little's law, as the tables derive it
  double kv_demand_ratio = 0;
};

// One result for each row, whatever the number of threads. `times`: nullptr: as shipped.
[[nodiscard]] std::vector<SimulatedRow> simulate_rows(const std::vector<ServingRow>& rows, const CsvTable& table,
                                                      const std::shared_ptr<const EngineTimesTable>& times);

}  // namespace shardplan
