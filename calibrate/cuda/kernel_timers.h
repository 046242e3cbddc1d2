// Measurements of single shapes on device 0, by kind of kernel. nullopt: this backend has no kernel for it, or the
// device none for the shape. DeviceMemoryError when the operands do not fit.
#pragma once

#include <optional>
#include <vector>

#include "calibrate/device.h"

namespace shardplan::cuda {

[[nodiscard]] std::optional<DeviceTiming> time_product(const NodeCase& c, const StoppingRule& rule);
[[nodiscard]] std::vector<DeviceTiming> time_experts(const NodeCase& c, const StoppingRule& rule);
[[nodiscard]] std::vector<DeviceTiming> time_attention(const NodeCase& c, const StoppingRule& rule);
[[nodiscard]] std::optional<DeviceTiming> time_elementwise(const NodeCase& c, const StoppingRule& rule);
[[nodiscard]] std::optional<DeviceTiming> time_cache_write(const NodeCase& c, const StoppingRule& rule);
[[nodiscard]] std::optional<DeviceTiming> time_sampling(const NodeCase& c, const StoppingRule& rule);

}  // namespace shardplan::cuda
