// calibrate fit --tables: coefficients of a machine that is known, from tables of measurements.
#pragma once

#include <string>

namespace shardplan {

// `tables`: files and folders with commas between; `into`: the hardware document whose rows are replaced, or "". Prints
// each row with its held-out error and what was left out. InputError.
void fit_known_machine(const std::string& hardware, const std::string& tables, const std::string& into);

}  // namespace shardplan
