#include "tools/tables/numbers.h"

#include <fmt/format.h>

#include "base/units.h"

namespace shardplan {

std::string in_gib(Bytes bytes) { return fmt::format("{:.2f}", static_cast<double>(bytes.value()) / static_cast<double>(kGiB)); }

std::string in_mib(double bytes) { return short_number(bytes / static_cast<double>(kMiB)); }

std::string in_kib(double bytes) { return short_number(bytes / static_cast<double>(kKiB)); }

std::string in_milliseconds(Seconds time) { return short_number(time.value() / kMilli); }

std::string in_microseconds(Seconds time) { return short_number(time.value() / kMicro); }

std::string time_text(Seconds time) { return time == Seconds(0) ? "0" : format_seconds(time); }

std::string in_percent(double ratio) { return fmt::format("{:.0f} %", ratio * 100); }

std::string whole(std::int64_t count) { return format_count(static_cast<double>(count)); }

std::string counted(std::int64_t count, const std::string& noun) { return whole(count) + " " + noun + (count == 1 ? "" : "s"); }

}  // namespace shardplan
