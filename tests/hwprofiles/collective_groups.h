// Groups that the tests of collectives price over.
#pragma once

#include <string>
#include <vector>

#include "hwprofiles/fabric.h"
#include "hwprofiles/profile.h"

namespace shardplan {

// The first `ranks` devices of a cluster of just as many.
[[nodiscard]] inline GroupLinks first_ranks(const HardwareProfile& profile, int ranks) {
  std::vector<int> group;
  for (int rank = 0; rank < ranks; ++rank) group.push_back(rank);
  return Fabric(profile, ranks).links(group);
}

}  // namespace shardplan
