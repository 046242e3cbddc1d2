// The replicas of one pool and the router before them.
#pragma once

#include <memory>
#include <vector>

#include "sim/instance.h"
#include "sim/routers/router.h"
#include "sim/simulation.h"

namespace shardplan {

class ReplicaPool {
 public:
  // Instances are numbered from `first_id`. InputError on settings out of range.
  ReplicaPool(const PoolSettings& settings, PoolRole role, std::int32_t first_id, EventQueue& events, RequestTable& table, InstanceObserver& observer,
              std::uint64_t seed);

  [[nodiscard]] std::size_t size() const { return instances_.size(); }
  [[nodiscard]] Instance& instance(std::int32_t replica) { return *instances_[static_cast<std::size_t>(replica)]; }
  [[nodiscard]] const std::vector<std::unique_ptr<Instance>>& instances() const { return instances_; }
  [[nodiscard]] const PoolSettings& settings() const { return settings_; }
  [[nodiscard]] bool up(std::int32_t replica) const { return up_[static_cast<std::size_t>(replica)]; }
  void set_up(std::int32_t replica, bool up) { up_[static_cast<std::size_t>(replica)] = up; }

  // Sets the request's replica and group and counts it there; false when every replica is down.
  bool route(Request& request);
  [[nodiscard]] std::int64_t requests_of(std::int32_t replica) const;   // sent there and not ended
  // The replica has another number of groups: those that stay keep their counts, the others' are forgotten.
  void regroup(std::int32_t replica);
  // The request is there no longer.
  void leave(const Request& request, std::int32_t replica, std::int32_t group);

 private:
  void list_candidates();
  [[nodiscard]] RouteCandidate& candidate(std::int32_t replica, std::int32_t group);

  PoolSettings settings_;
  std::unique_ptr<Router> router_;
  Random random_;
  std::vector<std::unique_ptr<Instance>> instances_;
  std::vector<bool> up_;
  std::vector<RouteCandidate> candidates_;
  std::vector<std::size_t> first_candidate_;    // of each replica, and one behind the last
  std::vector<RouteCandidate> usable_;          // while some replica is down
  std::vector<std::int64_t> next_group_;        // of each replica, where the router sees instances only
};

}  // namespace shardplan
