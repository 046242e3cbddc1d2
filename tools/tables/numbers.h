// Numbers in the cells of tables: the unit stands in the column's title.
#pragma once

#include <cstdint>
#include <string>

#include "base/quantity.h"
#include "base/short_number.h"

namespace shardplan {

[[nodiscard]] std::string in_gib(Bytes bytes);          // "63.40"
[[nodiscard]] std::string in_mib(double bytes);         // "512.0"
[[nodiscard]] std::string in_kib(double bytes);         // "128.0"
[[nodiscard]] std::string in_milliseconds(Seconds time);
[[nodiscard]] std::string in_microseconds(Seconds time);
[[nodiscard]] std::string time_text(Seconds time);      // "12.34 ms"; "0" for nothing
[[nodiscard]] std::string in_percent(double ratio);     // "12 %"
[[nodiscard]] std::string whole(std::int64_t count);    // "1,234"
[[nodiscard]] std::string counted(std::int64_t count, const std::string& noun);  // "1 token", "2 tokens"

}  // namespace shardplan
