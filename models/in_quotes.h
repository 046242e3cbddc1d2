// A name from a file, made fit for a one-line message.
#pragma once

#include <string>
#include <string_view>

namespace shardplan {

// `text` in double quotes: control characters become '?', what is beyond 64 characters "...".
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace shardplan
