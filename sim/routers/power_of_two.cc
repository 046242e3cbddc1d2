// Two different candidates at random, the one with fewer requests (Mitzenmacher 2001): most of what the shortest queue
// gains, without looking at all of them.
#include "sim/routers/router.h"

namespace shardplan {
namespace {

class PowerOfTwo : public Router {
 public:
  std::size_t choose(std::span<const RouteCandidate> candidates, const Request&, Random& random) override {
    const auto n = static_cast<std::int64_t>(candidates.size());
    if (n == 1) return 0;
    const auto first = static_cast<std::size_t>(random.integer(0, n - 1));
    auto second = static_cast<std::size_t>(random.integer(0, n - 2));
    if (second >= first) ++second;
    return candidates[second].requests < candidates[first].requests ? second : first;
  }
};

}  // namespace

std::unique_ptr<Router> make_power_of_two() { return std::make_unique<PowerOfTwo>(); }

}  // namespace shardplan
