// The memory of one rank of each stage, by owner, and what the rest holds as cache.
//
//   pool = memory*fraction - weights - activations - workspace;   blocks = floor(pool / block bytes), the least over stages
// Weights live as long as the server, cache across steps, activations within one forward (the most that is live at
// once in the largest step). Everything is read off the step graphs: no strategy is named here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "costmodel/activation_peak.h"
#include "costmodel/batch.h"
#include "costmodel/lowered_model.h"
#include "costmodel/page_pool.h"
#include "costmodel/stages.h"
#include "hwprofiles/profile.h"

namespace shardplan {

// How an engine pads the matrices of routed experts in formats whose name begins so: columns to multiples.
struct WeightPadding {
  const char* format = "";
  std::int64_t hidden = 1;
  std::int64_t up = 1;                         // rows of gate and up on a rank
  std::int64_t down = 1;                       // columns of down on a rank
};

// What an engine prints as its cache in tokens where layers cache differently.
enum class PrintedTokens : std::uint8_t { kPagesOverGroups, kWholeRequests };

// What an engine's memory fraction is a fraction of.
enum class FractionOf : std::uint8_t {
  kDevice,   // vLLM: of all memory, and everything lies inside
  kStatic,   // SGLang: of what is free at start; weights and cache lie inside, activations and graphs in the rest
  kLeft,     // TensorRT-LLM: of what weights and activations leave; the cache alone
};

// What an engine holds beside weights, activations and cache. Sources: start-up logs of vLLM 0.19 on H100.
struct EngineMemory {
  double memory_fraction_ratio = 0.9;
  FractionOf fraction_of = FractionOf::kDevice;
  std::int64_t block_size = 16;                // tokens of a cache block
  Bytes held;                                  // of every device by other processes, before the engine starts
  Bytes context{256 * kMiB};                   // CUDA context and library handles, one rank alone
  Bytes communicators{1900 * kMiB};            // NCCL, custom all-reduce and fused-kernel buffers, more than one rank
  Bytes graphs{512 * kMiB};                    // captured CUDA graphs (inside the fraction)
  Bytes graphs_per_layer;                      // of them, for each layer of a stage
  StepBuffers step;
  std::vector<WeightPadding> padding;
  bool rotary_tables = false;                  // held with the weights
  bool absorbed_copies = false;                // latent attention keeps its up-projections a second time, as activations are
  Bytes allocation_step;                       // large weights take whole steps where less than half of one is left over
  bool vision_tower = false;                   // held by the first stage, split over tp where its heads divide
  bool shares_pages = false;                   // layers that cache differently share pages (PagePool)
  PrintedTokens printed = PrintedTokens::kWholeRequests;
};

// The most that weights may take.
[[nodiscard]] Bytes usable_bytes(const EngineMemory& engine, Bytes device);

// The largest step that must fit, and the request lengths in question.
struct MemoryDemand {
  BatchShape largest_step;                     // for activations
  std::int64_t request_tokens = 0;             // of the longest request that must be admitted
};

inline constexpr const char* kElasticStaging = "elastic ep buffer";   // of a layer's experts on a rank

struct LedgerItem {
  std::string owner;                           // "attention", "experts", "cache", "activations", "cuda graphs", ...
  Bytes bytes;
};

struct StageLedger {
  StageLayers layers;
  std::vector<LedgerItem> weights;             // by part
  Bytes weights_bytes;
  Bytes activation_bytes;
  Bytes workspace_bytes;
  std::vector<LedgerItem> workspace;
  Bytes kv_pool_bytes;                         // what is left for cache, never negative
  Bytes missing_bytes;                         // what lacks when nothing is left
  double kv_bytes_per_token = 0;               // on this rank, per token of a request, far from any window
};

struct Ledger {
  Bytes device_bytes;                          // that programs see
  Bytes capacity_bytes;                        // what may be used: device * fraction, or the device where the fraction is of a part
  std::vector<StageLedger> stages;
  double kv_bytes_per_token = 0;               // the largest stage's
  std::int64_t kv_capacity_tokens = 0;         // of the whole instance, at request_tokens per request
  std::int64_t group_capacity_tokens = 0;      // of one attention group: the longest request
  bool fits = false;                           // weights and activations fit and one request has room
  std::string misfit;                          // the reason, with numbers; empty when it fits
  std::int64_t attention_groups = 1;

  // Requests of `tokens` tokens each that the instance can hold at once, block rounding included.
  [[nodiscard]] std::int64_t request_capacity(std::int64_t tokens) const;

  // Cache bytes of one request on a rank of a stage as a function of its length: sum over windows and kinds of entries (one
  // for `every` tokens, once they are complete), and the states of recurrent layers, which its length does not change.
  struct CacheTerm { std::int64_t window = 0; std::int64_t every = 1; double bytes_per_token = 0; double bytes_per_request = 0; };
  std::vector<std::vector<CacheTerm>> cache_terms;   // by stage
  // Bytes of a running request's cache on a rank of a stage: what it takes from the pool, what a swap moves.
  [[nodiscard]] double cache_bytes(std::size_t stage, std::int64_t tokens) const;
  std::int64_t block_tokens = 16;                    // tokens of a request that one block step covers (block size * cp)
  // Where the engine shares pages and layers cache differently; no kinds otherwise.
  PagePool pages;
  [[nodiscard]] bool paged() const { return !pages.kinds.empty(); }
};

[[nodiscard]] Ledger make_ledger(const ModelSpec& model, const ParallelConfig& config, const LoweredModel& lowered,
                                 const std::vector<StageLayers>& stages, const HardwareProfile& hardware,
                                 const EngineMemory& engine, const MemoryDemand& demand);

}  // namespace shardplan
