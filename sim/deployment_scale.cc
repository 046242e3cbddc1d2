// Instances that go on with another number of attention groups: elastic expert parallelism.
//
// Asked for, prepared while the old layout serves, then switched: once the step under way has ended no step starts for
// the pause. What is in groups that stay goes on from where it was. With `drain` newcomers wait outside until all
// requests have ended and the new layout is there, or until that took too long. Events of one replica follow one
// another.
#include <algorithm>

#include "base/errors.h"
#include "sim/deployment_run.h"

namespace shardplan {

void DeploymentRun::require_scales() const {
  if (input_.scales.empty()) return;
  if (decode_ || !input_.faults.empty() || input_.tiers.any())
    throw InputError("simulation", "scale events are of one pool without faults and lower cache tiers",
                     "none of these");
  if (input_.pool.instance.lanes != 1)
    throw InputError("simulation", "stages of a pipeline are not scaled", "one stage");
  for (const ScaleEvent& event : input_.scales) {
    if (event.replica < 0 || event.replica >= input_.pool.replicas)
      throw InputError("simulation", "a scale event names no replica", "a number below replicas");
    if (event.groups < 1 || event.timer == nullptr)
      throw InputError("simulation", "a scale event has no layout", "groups and their prices");
  }
}

// From the layout that is there.
ScaleTimes DeploymentRun::scale_times(std::size_t index) const {
  const ScaleEvent& event = input_.scales[index];
  const std::int64_t groups = pool_.instances()[static_cast<std::size_t>(event.replica)]->settings().groups;
  for (const ScaleTimes& times : event.otherwise) {
    if (times.groups == groups) return times;
  }
  return {groups, event.prepare, event.pause};
}

void DeploymentRun::begin_scale(std::size_t index) {
  const ScaleEvent& event = input_.scales[index];
  Scaling& scaling = scaling_[static_cast<std::size_t>(event.replica)];
  if (scaling.under_way) return scaling.next.push_back(index);
  scaling.under_way = true;
  scaling.event = index;
  scaling.record = {.replica = event.replica,
                    .groups_before = pool_.instance(event.replica).settings().groups,
                    .groups = event.groups,
                    .asked = event.at};
  if (!event.drain) {
    schedule(events_.now() + scale_times(index).prepare, EventPriority::kFault, Kind::kSwitch,
             static_cast<std::int64_t>(index));
    return;
  }
  scaling.drains = true;
  pool_.set_up(event.replica, false);
  scaling.deadline =
      schedule(events_.now() + event.drain_timeout, EventPriority::kSample, Kind::kGiveUp, event.replica);
  on_drained(event.replica);
}

// Nothing is left to serve: preparations follow.
void DeploymentRun::on_drained(std::int32_t replica) {
  Scaling& scaling = scaling_[static_cast<std::size_t>(replica)];
  if (!scaling.drains || pool_.requests_of(replica) > 0) return;
  scaling.drains = false;
  events_.cancel(scaling.deadline);
  schedule(events_.now() + scale_times(scaling.event).prepare, EventPriority::kSample, Kind::kSwitch,
           static_cast<std::int64_t>(scaling.event));
}

void DeploymentRun::give_up_scale(std::int32_t replica) {
  Scaling& scaling = scaling_[static_cast<std::size_t>(replica)];
  scaling.drains = false;
  scaling.record.groups = scaling.record.groups_before;
  scaling.record.given_up = true;
  scaling.record.paused = events_.now();
  end_scale(replica);
}

void DeploymentRun::on_quiet(std::int32_t instance) {
  Scaling& scaling = scaling_[static_cast<std::size_t>(instance)];
  const ScaleEvent& event = input_.scales[scaling.event];
  scaling.record.paused = events_.now();
  const SimTime pause = scale_times(scaling.event).pause;
  pool_.instance(instance).relayout(*event.timer, event.groups, event.busiest_ratio);
  std::vector<RequestSlot> lost;
  for (RequestSlot slot = 0; slot < table_.slots(); ++slot) {
    Request& request = table_[slot];
    const RequestPhase phase = request.phase;
    const bool inside =
        phase == RequestPhase::kWaiting || phase == RequestPhase::kPrefilling || phase == RequestPhase::kLost;
    if (request.replica != instance || request.group < event.groups) continue;
    if (inside) lost.push_back(slot);
    if (phase == RequestPhase::kOutside) request.group = kGroupGone;
  }
  pool_.regroup(instance);  // what counted the lost ones goes with their groups
  if (!pool_.settings().router_sees_groups) {
    for (const RequestSlot slot : lost) pool_.leave(table_[slot], instance, 0);
  }
  scaling.record.lost = std::ssize(lost);
  schedule(events_.now() + pause, EventPriority::kFault, Kind::kResume, instance);
  for (const RequestSlot slot : lost) start_over(slot);
}

void DeploymentRun::resume(std::int32_t replica) {
  pool_.instance(replica).resume();
  end_scale(replica);
}

// Those that the run has ended, and after them those that it has not.
std::vector<ScaleRecord> DeploymentRun::scale_records() const {
  std::vector<ScaleRecord> records = scaled_;
  for (std::size_t s = 0; s < input_.scales.size(); ++s) {
    if (told_[s]) continue;
    const ScaleEvent& event = input_.scales[s];
    const std::int64_t groups = pool_.instances()[static_cast<std::size_t>(event.replica)]->settings().groups;
    const Scaling& scaling = scaling_[static_cast<std::size_t>(event.replica)];
    const bool begun = scaling.under_way && scaling.event == s;
    records.push_back(
        begun ? scaling.record
              : ScaleRecord{
                    .replica = event.replica, .groups_before = groups, .groups = event.groups, .asked = event.at});
    records.back().ended = false;
  }
  return records;
}

void DeploymentRun::end_scale(std::int32_t replica) {
  Scaling& scaling = scaling_[static_cast<std::size_t>(replica)];
  scaling.record.resumed = events_.now();
  scaled_.push_back(scaling.record);
  told_[scaling.event] = true;
  scaling.under_way = false;
  pool_.set_up(replica, true);
  readmit();
  if (scaling.next.empty()) return;
  const std::size_t next = scaling.next.front();
  scaling.next.erase(scaling.next.begin());
  begin_scale(next);
}

}  // namespace shardplan
