// The catalog of machines, or one machine with its sources, for people.
#pragma once

#include <string>
#include <vector>

#include "hwprofiles/profile.h"

namespace shardplan {

[[nodiscard]] std::string machines_table(const std::vector<HardwareProfile>& machines);
[[nodiscard]] std::string machine_table(const HardwareProfile& machine);

}  // namespace shardplan
