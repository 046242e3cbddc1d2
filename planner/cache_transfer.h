// How the cache of a prompt moves from a prefill instance to a decode instance.
//
// Bytes: what the decode side's attention group stores, copies on its ranks included (MLA's latent is held by each),
// and never less than the prompt's cache once. Links: inside one fast domain the scale-up fabric, else every rank's share
// of its host's NICs; a group sends and receives with its own ranks. Wrong where an engine pulls one copy and
// broadcasts it inside the receiver.
#pragma once

#include "costmodel/ledger.h"
#include "planner/plan.h"
#include "sim/simulation.h"

namespace shardplan {

struct PoolCache {
  const ParallelConfig& config;
  const Ledger& ledger;
};

// Precondition: both pools hold the same model.
[[nodiscard]] TransferSettings cache_transfer(const PlanRequest& request, const PoolCache& prefill, const PoolCache& decode);

}  // namespace shardplan
