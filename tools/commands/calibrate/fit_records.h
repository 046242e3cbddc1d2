// calibrate fit RECORDS.jsonl: the profile of a machine from what calibrate run measured on it.
#pragma once

#include <string>

namespace shardplan {

// Writes the profile `name` to the file `output` and prints each coefficient with its held-out error. `sampler`: "greedy" or
// "top_p". InputError.
void fit_new_machine(const std::string& records, const std::string& output, const std::string& name, const std::string& sampler);

}  // namespace shardplan
