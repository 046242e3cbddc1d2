#include "sim/replica_pool.h"

#include <algorithm>

#include "base/errors.h"

namespace shardplan {
namespace {

std::int64_t tokens_of(const Request& request) { return request.spec.prompt_tokens + request.spec.output_tokens; }

}  // namespace

ReplicaPool::ReplicaPool(const PoolSettings& settings, PoolRole role, std::int32_t first_id, EventQueue& events, RequestTable& table,
                         InstanceObserver& observer, std::uint64_t seed)
    : settings_(settings), router_(make_router(settings.router)), random_(seed, "router") {
  if (settings.replicas < 1 || settings.replicas > 1'000'000) throw InputError("replicas", "are out of range", "1 to 1,000,000");
  ensure(settings.timer != nullptr, "a pool needs a step timer");
  settings_.instance.role = role;
  for (std::int32_t r = 0; r < static_cast<std::int32_t>(settings.replicas); ++r) {
    instances_.push_back(std::make_unique<Instance>(first_id + r, settings_.instance, *settings.timer, events, table, observer));
  }
  list_candidates();
  up_.assign(instances_.size(), true);
  next_group_.assign(instances_.size(), 0);
}

// Anew, with nothing counted.
void ReplicaPool::list_candidates() {
  candidates_.clear();
  first_candidate_.clear();
  for (std::int32_t r = 0; r < static_cast<std::int32_t>(instances_.size()); ++r) {
    const Instance& each = instance(r);
    first_candidate_.push_back(candidates_.size());
    const std::int64_t groups = settings_.router_sees_groups ? each.settings().groups : 1;
    for (std::int32_t g = 0; g < static_cast<std::int32_t>(groups); ++g) {
      candidates_.push_back({.replica = r, .group = settings_.router_sees_groups ? g : -1, .pool = &each.pool(g)});
    }
  }
  first_candidate_.push_back(candidates_.size());
}

std::int64_t ReplicaPool::requests_of(std::int32_t replica) const {
  const auto r = static_cast<std::size_t>(replica);
  std::int64_t requests = 0;
  for (std::size_t c = first_candidate_[r]; c < first_candidate_[r + 1]; ++c) requests += candidates_[c].requests;
  return requests;
}

void ReplicaPool::regroup(std::int32_t replica) {
  const std::vector<RouteCandidate> before = candidates_;
  const std::vector<std::size_t> first = first_candidate_;
  list_candidates();
  for (std::size_t r = 0; r + 1 < first.size(); ++r) {
    const std::size_t kept = std::min(first[r + 1] - first[r], first_candidate_[r + 1] - first_candidate_[r]);
    for (std::size_t g = 0; g < kept; ++g) {
      candidates_[first_candidate_[r] + g].requests = before[first[r] + g].requests;
      candidates_[first_candidate_[r] + g].tokens = before[first[r] + g].tokens;
    }
  }
  next_group_[static_cast<std::size_t>(replica)] = 0;
}

RouteCandidate& ReplicaPool::candidate(std::int32_t replica, std::int32_t group) {
  const std::size_t first = first_candidate_[static_cast<std::size_t>(replica)];
  return candidates_[settings_.router_sees_groups ? first + static_cast<std::size_t>(group) : first];
}

bool ReplicaPool::route(Request& request) {
  const bool all = std::find(up_.begin(), up_.end(), false) == up_.end();
  if (!all) {
    usable_.clear();
    for (const RouteCandidate& c : candidates_) {
      if (up(c.replica)) usable_.push_back(c);
    }
    if (usable_.empty()) return false;
  }
  if (router_->reads_cache()) {
    for (const auto& each : instances_) each->settle();
  }
  const std::vector<RouteCandidate>& from = all ? candidates_ : usable_;
  const RouteCandidate chosen = from.size() == 1 ? from.front() : from[router_->choose(from, request, random_)];
  request.replica = chosen.replica;
  request.group = chosen.group;
  if (chosen.group < 0) request.group = static_cast<std::int32_t>(next_group_[static_cast<std::size_t>(chosen.replica)]++ % instance(chosen.replica).settings().groups);
  RouteCandidate& counted = candidate(request.replica, request.group);
  ++counted.requests;
  counted.tokens += tokens_of(request);
  return true;
}

void ReplicaPool::leave(const Request& request, std::int32_t replica, std::int32_t group) {
  RouteCandidate& counted = candidate(replica, group);
  --counted.requests;
  counted.tokens -= tokens_of(request);
}

}  // namespace shardplan
