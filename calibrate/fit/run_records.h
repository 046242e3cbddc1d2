// Lines of calibrate run as records of measured tables, so that those of a known device are fitted and judged as any
// table is.
#pragma once

#include <optional>

#include "base/json.h"

namespace shardplan {

// Whether the object is a line of calibrate run, not a record with its shape in an object of its own.
[[nodiscard]] bool is_run_line(const Json& line);
// The record that the line is; nullopt for the header and for small operations, which no table has.
[[nodiscard]] std::optional<Json> table_record(const Json& line);

}  // namespace shardplan
