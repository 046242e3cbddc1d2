// In turn. Blind to length: with uneven requests queues grow apart.
#include "sim/routers/router.h"

namespace shardplan {
namespace {

class RoundRobin : public Router {
 public:
  std::size_t choose(std::span<const RouteCandidate> candidates, const Request&, Random&) override { return next_++ % candidates.size(); }

 private:
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Router> make_round_robin() { return std::make_unique<RoundRobin>(); }

}  // namespace shardplan
