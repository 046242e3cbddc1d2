// Loads a device backend from its module beside the program.
#pragma once

#include <memory>
#include <string>

#include "calibrate/device.h"

namespace shardplan {

// `module`: "shardplan_cuda.so". EnvironmentError when it is not there (built without), cannot be loaded, or finds no device.
[[nodiscard]] std::shared_ptr<DeviceBackend> load_device(const std::string& module);

}  // namespace shardplan
