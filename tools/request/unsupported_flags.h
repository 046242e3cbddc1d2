// Flags of mechanisms that do not exist yet: refused, never ignored.
#pragma once

#include <string>

#include "tools/cli/flag.h"

namespace shardplan {

// `simulates`: without those of mechanisms that `simulate` has.
[[nodiscard]] FlagGroup unsupported_flags(bool simulates);

}  // namespace shardplan
