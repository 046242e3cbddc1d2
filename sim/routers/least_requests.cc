// Join the shortest queue, counted in unfinished requests; the first of equals.
#include <algorithm>

#include "sim/routers/router.h"

namespace shardplan {
namespace {

class LeastRequests : public Router {
 public:
  std::size_t choose(std::span<const RouteCandidate> candidates, const Request&, Random&) override {
    const auto least = std::min_element(candidates.begin(), candidates.end(),
                                        [](const RouteCandidate& a, const RouteCandidate& b) { return a.requests < b.requests; });
    return static_cast<std::size_t>(least - candidates.begin());
  }
};

}  // namespace

std::unique_ptr<Router> make_least_requests() { return std::make_unique<LeastRequests>(); }

}  // namespace shardplan
