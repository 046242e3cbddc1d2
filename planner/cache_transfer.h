// How cache moves: of a prompt from a prefill instance to a decode instance, and of prefixes between tiers.
//
// Bytes: what the decode side's attention group stores, copies on its ranks included (MLA's latent is held by each),
// and never less than the prompt's cache once. Links: inside one fast domain the scale-up fabric, else every rank's share
// of its host's NICs; a group sends and receives with its own ranks. Wrong where an engine pulls one copy and
// broadcasts it inside the receiver.
#pragma once

#include <optional>

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

// Prefix cache below the device's own. The host's is read over each rank's PCIe link, the store's over its share of the NICs.
struct TierChoice {
  Bytes host;                                    // of each instance; 0: none
  Bytes remote;                                  // of the whole store; 0: none
  std::optional<BytesPerSecond> remote_rate;     // to one GPU; nothing: its share of the NICs
};
[[nodiscard]] TierSettings cache_tiers(const PlanRequest& request, const PoolCache& pool, const TierChoice& choice);

}  // namespace shardplan
