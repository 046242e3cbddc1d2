#include "tools/cli/standard_output.h"

#include <cstdio>

#include "base/errors.h"

namespace shardplan {

void write_standard_output(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) throw EnvironmentError("standard output cannot be written");
}

}  // namespace shardplan
