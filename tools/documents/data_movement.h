// What moves to and from the devices beside the collectives of a step: the array `data_movement` of a document.
//
//   weights:          sum over stages and ranks of the bytes a rank holds, once, before the first request;
//   token ids in:     4 bytes for each token of a step, from the host;
//   sampled tokens:   4 bytes for each sequence of a step, to the host.
// Wrong where a checkpoint is stored in another format than it is held in, and where ranks of a host share one read.
#pragma once

#include <string>
#include <vector>

#include "hwprofiles/profile.h"
#include "planner/plan.h"
#include "tools/documents/document.h"

namespace shardplan {

struct DataMovement {
  std::string what;
  std::string from;
  std::string to;
  std::string per;     // "start-up", "decode step", ...
  double bytes = 0;    // over the whole deployment
  std::string link;
  bool critical = false;  // the step waits for it
};

// `sequences`: running in one decode step of the deployment; `prompt_tokens`: of one prompt, computed.
[[nodiscard]] std::vector<DataMovement> data_movement(const Plan& plan, const HardwareProfile& hardware, double sequences,
                                                      double prompt_tokens);
[[nodiscard]] Document movement_document(const std::vector<DataMovement>& rows);

}  // namespace shardplan
