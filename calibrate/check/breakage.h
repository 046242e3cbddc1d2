// Ways to break a sharded run on purpose, to see the check notice.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "calibrate/tamper.h"

namespace shardplan {

struct BreakageKind {
  const char* name;   // "swap_ranks", "drop_lse", "halve_message"
  const char* help;
  std::unique_ptr<Tamper> (*make)();
};

[[nodiscard]] const std::vector<BreakageKind>& breakage_kinds();

}  // namespace shardplan
