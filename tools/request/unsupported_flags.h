// Flags of mechanisms that do not exist yet: refused, never ignored.
#pragma once

#include <string>

#include "tools/cli/flag.h"

namespace shardplan {

[[nodiscard]] FlagGroup unsupported_flags();

}  // namespace shardplan
