// Join the shortest queue, counted in tokens of unfinished requests. Knows outputs in advance: a bound on what a router
// that must guess them can do.
#include <algorithm>

#include "sim/routers/router.h"

namespace shardplan {
namespace {

class LeastTokens : public Router {
 public:
  std::size_t choose(std::span<const RouteCandidate> candidates, const Request&, Random&) override {
    const auto least = std::min_element(candidates.begin(), candidates.end(),
                                        [](const RouteCandidate& a, const RouteCandidate& b) { return a.tokens < b.tokens; });
    return static_cast<std::size_t>(least - candidates.begin());
  }
};

}  // namespace

std::unique_ptr<Router> make_least_tokens() { return std::make_unique<LeastTokens>(); }

}  // namespace shardplan
