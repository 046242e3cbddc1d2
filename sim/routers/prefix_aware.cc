// The candidate whose cache holds the longest prefix of the prompt, fewest requests among equals; the least loaded when
// the best one has far more requests than it (SGLang's router: more than 32 and more than 1.5 times as many).
#include "sim/routers/router.h"

namespace shardplan {
namespace {

constexpr std::int64_t kAbsoluteImbalance = 32;
constexpr double kRelativeImbalance = 1.5;

class PrefixAware : public Router {
 public:
  [[nodiscard]] bool reads_cache() const override { return true; }
  std::size_t choose(std::span<const RouteCandidate> candidates, const Request& request, Random&) override {
    const auto hashes = request.hashes_within(request.target - 1);
    std::size_t best = 0;
    std::size_t least = 0;
    std::int64_t found = -1;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const std::int64_t hits = candidates[i].pool->match(hashes);
      if (hits > found || (hits == found && candidates[i].requests < candidates[best].requests)) best = i;
      found = std::max(found, hits);
      if (candidates[i].requests < candidates[least].requests) least = i;
    }
    return overloaded(candidates[best].requests, candidates[least].requests) ? least : best;
  }

 private:
  static bool overloaded(std::int64_t best, std::int64_t least) {
    return best - least > kAbsoluteImbalance && static_cast<double>(best) > kRelativeImbalance * static_cast<double>(least);
  }
};

}  // namespace

std::unique_ptr<Router> make_prefix_aware() { return std::make_unique<PrefixAware>(); }

}  // namespace shardplan
