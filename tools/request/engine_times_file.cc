#include "tools/request/engine_times_file.h"

#include <utility>

#include "base/file.h"
#include "base/input_limit.h"

namespace shardplan {

EngineTimesTable engine_times_of(const std::string& file) {
  if (file.empty()) return shipped_engine_times();
  return read_engine_times(read_file(file, kMostInputBytes), file);
}

EngineTimesTable overlaid_times(const EngineTimesTable& base, const std::string& file) {
  EngineTimesTable given = engine_times_of(file);
  return given.is_overlay ? with_overlay(base, given) : std::move(given);
}

}  // namespace shardplan
