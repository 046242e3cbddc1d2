// Which replica (and attention group) gets a new request.
//
// One file and one row per router. Candidates are attention groups where the router sees them, or whole instances
// (then a group is taken in turn inside). A replica that is down is no candidate.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/block_pool.h"
#include "sim/random.h"
#include "sim/request_table.h"

namespace shardplan {

struct RouteCandidate {
  std::int32_t replica = 0;
  std::int32_t group = -1;               // -1: any
  std::int64_t requests = 0;             // sent there and not ended
  std::int64_t tokens = 0;               // prompt and output of those
  const BlockPool* pool = nullptr;       // of the group, or of the instance's first
};

class Router {
 public:
  virtual ~Router() = default;
  // Whether it looks at pools, which must then be up to date.
  [[nodiscard]] virtual bool reads_cache() const { return false; }
  // Index into `candidates`. Precondition: not empty.
  [[nodiscard]] virtual std::size_t choose(std::span<const RouteCandidate> candidates, const Request& request, Random& random) = 0;
};

struct RouterRow {
  const char* name;
  const char* help;
  std::unique_ptr<Router> (*make)();
};

[[nodiscard]] const std::vector<RouterRow>& routers();
// InputError naming the nearest router otherwise.
[[nodiscard]] std::unique_ptr<Router> make_router(const std::string& name);

// Makers of the table's rows, one file each.
[[nodiscard]] std::unique_ptr<Router> make_round_robin();
[[nodiscard]] std::unique_ptr<Router> make_least_requests();
[[nodiscard]] std::unique_ptr<Router> make_least_tokens();
[[nodiscard]] std::unique_ptr<Router> make_prefix_aware();
[[nodiscard]] std::unique_ptr<Router> make_power_of_two();

}  // namespace shardplan
