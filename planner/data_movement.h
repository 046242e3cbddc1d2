// What moves to and from the devices beside the collectives of a step, and how long each takes on its link.
//
//   weights: storage -> host once per host, host -> device by every rank at once, host -> host where they come from
//            another machine; the slowest of the three is what a start waits for
//   steps:   ids, positions and cache slots in, sampled ids out; on the critical path of every step
//   cache:   a preempted request of the workload's length is swapped out and in, or computed again
// One link for each row, from the profile; storage is not in a profile: local NVMe drives of 7 GB/s are assumed. Wrong
// where a checkpoint is stored in another format than it is held in, and where transfers share a link.
#pragma once

#include <string>
#include <vector>

#include "planner/plan.h"

namespace shardplan {

struct DataMovement {
  std::string what;
  std::string from;
  std::string to;
  std::string per;   // "start-up", "prompt", "decode step", "preempted request", "scaling 8 to 16"
  double bytes = 0;  // over the whole deployment; of a request: over its ranks
  std::string link;
  Seconds time;           // all ranks at once
  bool critical = false;  // what happens waits for it
  std::string note;       // what it means, where that is not plain
};

[[nodiscard]] std::vector<DataMovement> data_movement(const PlanRequest& request, const Plan& plan);
// Of bare steps where they are given: their sequences and tokens, and no request to preempt.
[[nodiscard]] std::vector<DataMovement> data_movement(const PlanRequest& request, const EstimateResult& result,
                                                      const BareSteps& steps);
// The cache of one prompt of the workload from a prefill instance to a decode instance; of legal, lowered plans.
[[nodiscard]] DataMovement cache_hand_over(const PlanRequest& request, const Plan& prefill, const Plan& decode);

}  // namespace shardplan
