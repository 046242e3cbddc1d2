// The exporters, one .cc file each; planner/export/registry.cc lists them in order.
#pragma once

#include "planner/export/launch.h"

namespace shardplan {

[[nodiscard]] Exporter vllm_exporter();

}  // namespace shardplan
