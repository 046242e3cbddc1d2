// What the dense and the sparse Qwen models share: windows that have to be switched on.
#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"

namespace shardplan {

// The window of each layer. With use_sliding_window: by layer_types, else `sliding_window` from layer
// max_window_layers on. Without it: 0 everywhere, whatever sliding_window says.
[[nodiscard]] std::vector<std::int64_t> read_qwen_windows(JsonObject& config, std::int64_t layers);

}  // namespace shardplan
