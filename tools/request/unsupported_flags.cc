#include "tools/request/unsupported_flags.h"

#include "base/errors.h"

namespace shardplan {
namespace {

struct Row {
  const char* name;
  const char* instead;  // what can be said today
  bool simulated = false;  // `simulate` knows it
};
constexpr Row kRows[] = {
    {"--prefill-replicas", "one pool that serves both phases", true},
    {"--prefill-tp", "one pool that serves both phases", true},
    {"--prefill-pp", "one pool that serves both phases", true},
    {"--prefill-dpa", "one pool that serves both phases", true},
    {"--prefill-pcp", "one pool that serves both phases", true},
    {"--prefill-ep", "one pool that serves both phases", true},
    {"--decode-replicas", "one pool that serves both phases", true},
    {"--decode-tp", "one pool that serves both phases", true},
    {"--decode-pp", "one pool that serves both phases", true},
    {"--decode-dpa", "one pool that serves both phases", true},
    {"--decode-dcp", "one pool that serves both phases", true},
    {"--decode-ep", "one pool that serves both phases", true},
};

}  // namespace

FlagGroup unsupported_flags(bool simulates) {
  FlagGroup group{"", {}};  // without a title a group is left out of --help
  for (const Row& row : kRows) {
    if (simulates && row.simulated) continue;
    group.flags.push_back({row.name, "V", "not supported yet", [&row](const std::string&) {
                             throw InputError(row.name, "is not supported yet", row.instead);
                           }});
  }
  return group;
}

}  // namespace shardplan
