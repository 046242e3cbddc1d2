// Flags of mechanisms that do not exist yet: refused, never ignored.
#pragma once

#include <string>

#include "tools/cli/flag.h"

namespace shardplan {

// `pools`: without those of prefill and decode pools, which the command knows.
[[nodiscard]] FlagGroup unsupported_flags(bool pools);

}  // namespace shardplan
