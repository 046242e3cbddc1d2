// Tables of measured kernels and collectives as a report of points: predicted by the rows of the machine's profile.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit/measured_table.h"
#include "planner/measured/point_report.h"

namespace shardplan {

// `hardware`: the machine that was measured, where a table does not name it; "" otherwise. InputError where neither
// does.
[[nodiscard]] PointReport validate_kernels(const std::vector<MeasuredTable>& tables, const std::string& hardware,
                                           std::size_t worst);

}  // namespace shardplan
