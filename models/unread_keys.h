// Which unknown fields of a config.json deserve a person's attention.
//
// Published configs carry dozens of fields that change no size (generation defaults, training
// settings). A field is worth a note when its name speaks of sizes, it is not on the list of those
// known to be harmless, and it holds something but null, false, 0 or an empty list.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace shardplan {

// At most kMaxNamedKeys keys of `config` that were not read and could matter, each quoted; `json` is
// the object behind `config`.
inline constexpr std::size_t kMaxNamedKeys = 8;
[[nodiscard]] std::vector<std::string> suspicious_unread_keys(const JsonObject& config, const Json& json);

}  // namespace shardplan
