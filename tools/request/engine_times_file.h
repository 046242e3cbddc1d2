// Engine times that a command is given as files.
#pragma once

#include <string>

#include "planner/engine_times.h"

namespace shardplan {

// Of a document; "" is the shipped one. InputError where it cannot be read.
[[nodiscard]] EngineTimesTable engine_times_of(const std::string& file);
// `base` with the rows of an overlay; a whole document takes its place.
[[nodiscard]] EngineTimesTable overlaid_times(const EngineTimesTable& base, const std::string& file);

}  // namespace shardplan
