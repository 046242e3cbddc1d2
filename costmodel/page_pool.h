// The cache of one rank cut into pages that groups of layers share, as vLLM's hybrid cache manager does it.
//
// Layers that cache alike (full attention, a window, a recurrent state) form groups of equal size; a page is one block
// of every layer of a group, whichever group holds it. Sizes:
//   group = the fewest layers of a kind, or the most where that is less than half as many again; the last group of a
//           kind is padded: gemma-3-27b takes 70 slots for its 62 layers
//   block = the engine's, or as many tokens as fill the largest page: attention beside recurrent layers takes blocks so
//           long that they are no smaller than a state
// Windows: a request being admitted counts the window and one step's tokens, in whole blocks and one more; a running one
// the blocks that the window touches. Wrong where an engine splits groups otherwise to share prefixes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/quantity.h"

namespace shardplan {

// Layers of a model that cache alike.
struct CachedLayers {
  std::int64_t window = 0;              // tokens; 0: all
  double bytes_per_token = 0;           // of one layer on a rank
  double bytes_per_request = 0;         // state of one layer on a rank
  std::int64_t states = 1;              // of a request: one behind each token that may be refused
  std::vector<std::int64_t> of_stage;   // layers on each pipeline stage
};

struct PageGroup {
  std::int64_t groups = 0;              // pages that hold one block of all layers of the kind
  std::int64_t block_tokens = 0;        // 0: states, one page each
  std::int64_t window = 0;
  std::int64_t states = 1;              // of a request
};

struct PagePool {
  std::vector<PageGroup> kinds;
  std::int64_t pages = 0;               // on every stage: the least
  std::vector<double> page_bytes;       // by stage
  std::int64_t step_tokens = 0;         // of the largest step

  [[nodiscard]] std::int64_t groups() const;
  [[nodiscard]] std::int64_t block_tokens() const;                   // of attention; the smallest
  [[nodiscard]] std::int64_t pages_to_admit(std::int64_t tokens) const;
  [[nodiscard]] std::int64_t pages_to_run(std::int64_t tokens) const;
  [[nodiscard]] bool has_states() const;
};

// `block`: tokens of a block over all ranks that split positions; `pools`: bytes for cache by stage.
[[nodiscard]] PagePool make_page_pool(const std::vector<CachedLayers>& layers, const std::vector<Bytes>& pools,
                                      std::int64_t block, std::int64_t step_tokens);

}  // namespace shardplan
