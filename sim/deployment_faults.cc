// Replicas lost and back: what was computed there is lost, what was answered is not.
//
// A prompt under way starts over elsewhere. A cache that waits to move, or is on its way, is lost with its source and the
// prompt starts over; with its destination it goes to another one, or waits until there is one. A request that decodes
// starts over with what it has answered as part of its prompt. Bytes on their way to or from what is lost stay unmoved.
#include <algorithm>

#include "sim/deployment_run.h"

namespace shardplan {

void DeploymentRun::take_down(const ReplicaFault& fault) {
  ReplicaPool& pool = fault.of_decode_pool ? *decode_ : pool_;
  if (!pool.up(fault.replica)) return;
  pool.set_up(fault.replica, false);
  pool.instance(fault.replica).lose();
  if (!fault.of_decode_pool && !host_tiers_.empty()) host_tiers_[static_cast<std::size_t>(fault.replica)]->clear();
  for (RequestSlot slot = 0; slot < table_.slots(); ++slot) {
    fault.of_decode_pool ? lose_answer_side(slot, fault.replica) : lose_prompt_side(slot, fault.replica);
  }
}

// A replica that computes prompts, or serves alone, is gone.
void DeploymentRun::lose_prompt_side(RequestSlot slot, std::int32_t replica) {
  Request& request = table_[slot];
  if (request.source_replica < 0) {
    const RequestPhase phase = request.phase;
    const bool inside = phase == RequestPhase::kWaiting || phase == RequestPhase::kPrefilling || phase == RequestPhase::kLoading || phase == RequestPhase::kLost;
    if (!inside || request.replica != replica) return;
    if (phase == RequestPhase::kLoading) {
      tier_links_->cancel(*this, 2 * std::int64_t{slot} + 1);
      loads_left_[static_cast<std::size_t>(slot)] = 0;
    }
    pool_.leave(request, request.replica, request.group);
    return start_over(slot);
  }
  if (request.source_replica != replica || request.phase != RequestPhase::kHandedOver) return;
  if (request.replica >= 0) {
    stop_moving(slot);
    decode_->instance(request.replica).forget(slot);
    decode_->leave(request, request.replica, request.group);
  } else {
    std::erase(stranded_, slot);
  }
  --request.outputs;   // it travels with the cache
  start_over(slot);
}

// A replica of the decode pool is gone.
void DeploymentRun::lose_answer_side(RequestSlot slot, std::int32_t replica) {
  Request& request = table_[slot];
  if (request.source_replica < 0 || request.replica != replica) return;
  if (request.phase == RequestPhase::kHandedOver) {
    stop_moving(slot);
    decode_->leave(request, request.replica, request.group);
    request.holding = {};
    request.previous = request.next = kNoRequest;
    return send(slot);
  }
  // Preempted there, it waits or computes what it had.
  const bool preempted = request.phase == RequestPhase::kWaiting || request.phase == RequestPhase::kPrefilling;
  if (request.phase != RequestPhase::kArriving && request.phase != RequestPhase::kLost && !preempted) return;
  decode_->leave(request, request.replica, request.group);
  start_over(slot);
}

void DeploymentRun::stop_moving(RequestSlot slot) {
  if (static_cast<std::size_t>(slot) < moves_.size()) events_.cancel(moves_[static_cast<std::size_t>(slot)]);
  links_->cancel(*this, 2 * std::int64_t{slot});
}

void DeploymentRun::start_over(RequestSlot slot) {
  Request& request = table_[slot];
  request.phase = RequestPhase::kOutside;
  request.previous = request.next = kNoRequest;
  request.holding = request.source_holding = {};
  request.source_replica = -1;
  request.reserved = 0;
  request.was_loaded = false;
  request.target = request.spec.prompt_tokens + request.outputs;
  request.scheduled = request.computed = 0;
  if (!input_.requeue_lost || !pool_.instance(0).can_compute(request.target)) return give_up(slot);
  if (pool_.route(request)) return pool_.instance(request.replica).enqueue(slot);
  homeless_.push_back(slot);
}

void DeploymentRun::bring_up(const ReplicaFault& fault) {
  (fault.of_decode_pool ? *decode_ : pool_).set_up(fault.replica, true);
  if (!fault.of_decode_pool) return readmit();
  std::vector<RequestSlot> waiting;
  std::swap(waiting, stranded_);
  for (const RequestSlot slot : waiting) send(slot);
}

void DeploymentRun::readmit() {
  std::vector<RequestSlot> waiting;
  std::swap(waiting, homeless_);
  for (const RequestSlot slot : waiting) admit(slot);
}

}  // namespace shardplan
