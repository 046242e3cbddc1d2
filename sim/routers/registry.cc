#include <fmt/format.h>

#include "base/errors.h"
#include "base/suggest.h"
#include "sim/routers/router.h"

namespace shardplan {

const std::vector<RouterRow>& routers() {
  static const std::vector<RouterRow> kRows = {
      {"round_robin", "in turn, whatever their load", make_round_robin},
      {"least_requests", "the one with the fewest unfinished requests", make_least_requests},
      {"least_tokens", "the one with the fewest prompt and output tokens in unfinished requests", make_least_tokens},
      {"prefix_aware", "the one whose cache holds most of the prompt, unless it is overloaded", make_prefix_aware},
      {"power_of_two", "the less loaded of two drawn at random", make_power_of_two},
  };
  return kRows;
}

std::unique_ptr<Router> make_router(const std::string& name) {
  std::vector<std::string> names;
  for (const RouterRow& row : routers()) {
    if (name == row.name) return row.make();
    names.emplace_back(row.name);
  }
  throw InputError("router", fmt::format("'{}' is not known", name), nearest_hint(name, names));
}

}  // namespace shardplan
