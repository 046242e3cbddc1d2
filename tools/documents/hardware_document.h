// The document shardplan.hardware/1: one or more machines, rates dense and per direction.
#pragma once

#include <string>
#include <vector>

#include "hwprofiles/profile.h"

namespace shardplan {

[[nodiscard]] std::string hardware_document(const std::vector<HardwareProfile>& machines);

}  // namespace shardplan
