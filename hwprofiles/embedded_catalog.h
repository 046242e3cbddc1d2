// The machines compiled into the program: their names and their JSON, unparsed.
#pragma once

#include <span>
#include <string_view>

namespace shardplan {

struct EmbeddedProfile {
  std::string_view name;
  std::string_view title;
  std::string_view aliases;  // each followed by a blank
  std::string_view json;
};

// In alphabetical order of the file names.
[[nodiscard]] std::span<const EmbeddedProfile> embedded_profiles();

// The row whose name or alias is `name` (any case, '_' as '-'), or nullptr.
[[nodiscard]] const EmbeddedProfile* find_embedded_profile(std::string_view name);

}  // namespace shardplan
