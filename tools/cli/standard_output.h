// Writing to standard output, with a look at whether it arrived.
#pragma once

#include <string_view>

namespace shardplan {

// EnvironmentError when the text cannot be written (a full disk).
void write_standard_output(std::string_view text);

}  // namespace shardplan
