// What kind of measurements a file holds, told from its first lines.
#pragma once

#include <string>

namespace shardplan {

enum class MeasuredKind { kServing, kKernels, kPublished, kStaticBatches };

// A folder holds kernel tables. InputError naming the kinds that are known for anything else.
[[nodiscard]] MeasuredKind measured_kind(const std::string& path);

}  // namespace shardplan
