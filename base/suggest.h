// Nearest-name hints for unknown names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardplan {

// Edit distance in characters (insert, delete, replace, transpose neighbours cost 1 each).
[[nodiscard]] int edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `name` (ties: first), or "" when none is reasonably near: about a
// third of the characters may be wrong; a part of a candidate, or a candidate inside, is near.
[[nodiscard]] std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

// For InputError's hint: "a known name, such as llama-3.1-8b" or "one of a, b, c, ..."; "" without candidates.
[[nodiscard]] std::string nearest_hint(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace shardplan
