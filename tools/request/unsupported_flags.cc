#include "tools/request/unsupported_flags.h"

#include "base/errors.h"

namespace shardplan {
namespace {

struct Row {
  const char* name;
  const char* instead;  // what can be said today
};
constexpr Row kRows[] = {
    {"--capacity-factor", "experts that drop no token"},
    {"--speculative-tokens", "one token per sequence and step"},
    {"--acceptance", "one token per sequence and step"},
    {"--prefill-replicas", "one pool that serves both phases"},
    {"--prefill-tp", "one pool that serves both phases"},
    {"--prefill-pp", "one pool that serves both phases"},
    {"--prefill-dpa", "one pool that serves both phases"},
    {"--prefill-pcp", "one pool that serves both phases"},
    {"--prefill-ep", "one pool that serves both phases"},
    {"--decode-replicas", "one pool that serves both phases"},
    {"--decode-tp", "one pool that serves both phases"},
    {"--decode-pp", "one pool that serves both phases"},
    {"--decode-dpa", "one pool that serves both phases"},
    {"--decode-dcp", "one pool that serves both phases"},
    {"--decode-ep", "one pool that serves both phases"},
};

}  // namespace

FlagGroup unsupported_flags() {
  FlagGroup group{"", {}};  // without a title a group is left out of --help
  for (const Row& row : kRows) {
    group.flags.push_back({row.name, "V", "not supported yet", [&row](const std::string&) {
                             throw InputError(row.name, "is not supported yet", row.instead);
                           }});
  }
  return group;
}

}  // namespace shardplan
