// The flags of an engine as data: what a launch file may say, and how it may say it.
//
// One table per engine (planner/export/<engine>_flags.cc), which the checker of launch files reads
// (planner/export/check_launch.h). A row holds for a range of versions, as a rule does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/export/arguments.h"
#include "planner/rules.h"

namespace shardplan {

enum class FlagPlace : std::uint8_t { kCommand, kEnvironment, kConfig };
enum class FlagKind : std::uint8_t { kSwitch, kCount, kRatio, kText, kChoice, kCounts, kJson };

struct FlagRow {
  const char* name;
  FlagKind kind;
  const char* choices = "";  // of kChoice: "a b c"
  std::int64_t least = 0;    // of kCount and kCounts
  std::int64_t most = 1'000'000'000;
  VersionRange versions = {};
  FlagPlace place = FlagPlace::kCommand;
};

// What is wrong with `argument` under `row`; "" when nothing is. Shell expressions pass where numbers or texts do.
[[nodiscard]] std::string flag_fault(const FlagRow& row, const EngineArgument& argument);

}  // namespace shardplan
