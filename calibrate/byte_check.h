// Holds the bytes that the communicator counted against what the graph claims, node by node and rank by rank.
//
// Claims come from costmodel/traffic.h; those of dispatch and combine depend on the routing, and are counted here from
// the routing of the run on one rank and from where the experts lie.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/executor.h"

namespace shardplan {

struct ByteCheck {
  std::int64_t checks = 0;       // (node, rank)
  std::int64_t nonzero = 0;
  std::vector<std::string> mismatches;
  void absorb(const ByteCheck& other);
};

// Graph number `step` of a run; `whole` is the same graph on one rank, `boundary` whether a next stage follows it.
struct ByteCheckRequest {
  const RunResult& run;
  int step = 0;
  const GraphResult& whole;
  const RaggedBatch& batch;
  bool boundary = false;
};
[[nodiscard]] ByteCheck check_bytes(const ByteCheckRequest& request);

}  // namespace shardplan
