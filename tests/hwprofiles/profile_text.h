// A made-up machine as JSON text, and edits of it.
#pragma once

#include <string>
#include <string_view>

namespace shardplan {

// A complete hardware-1 document of a machine that does not exist: 4 devices per host, 100 TFLOP/s, 1 TB/s.
[[nodiscard]] std::string made_up_machine();

// `text` with the first `from` replaced; fails the test when it is not there.
[[nodiscard]] std::string edited(std::string text, std::string_view from, std::string_view to);

// The message of the InputError that reading `text` ends with, or "" when it is read.
[[nodiscard]] std::string error_of(const std::string& text);

}  // namespace shardplan
