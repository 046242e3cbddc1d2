// What schedulers see of one attention group: its queue, its cache, and the batches its requests run in.
//
// An instance has `groups` of these, each with its own queue and pool, and `lanes` batches in flight (one per pipeline
// stage). Prompts under way belong to the group: their chunks may follow one another through the pipeline. A request
// decodes in the lane that computed the last of its prompt.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/block_pool.h"
#include "sim/decode_set.h"
#include "sim/request_table.h"

namespace shardplan {

struct Chunk {
  RequestSlot request = kNoRequest;
  std::int64_t tokens = 0;
  std::int64_t prefix = 0;
};

// One lane's part of a group, and the step that is planned or under way.
struct Batch {
  Batch(std::int64_t block_tokens, bool grows) : decodes(block_tokens, grows) {}
  DecodeSet decodes;
  std::vector<Chunk> chunks;
  bool decoding = false;                   // whether the step includes the decodes
  std::vector<RequestSlot> newcomers;      // joined since the last decode step
  SimTime last_decode;                     // end of it
};

struct Group {
  Group(std::int64_t blocks, std::int64_t block_tokens) : pool(blocks, block_tokens) {}
  RequestList waiting;
  RequestList prefilling;                  // admitted, prompt not computed yet
  RequestList distant;                     // decode pools: cache elsewhere, no room here yet
  RequestList arrived;                     // decode pools: cache is here
  std::int64_t reserved = 0;               // blocks of all requests that are kept so
  std::int64_t loading = 0;                // requests whose prefix comes from a lower tier
  BlockPool pool;
  std::int64_t seated = 0;                 // admitted and not ended, the seats that are taken
  std::vector<RequestSlot> releasing;      // ended; seat and blocks come free after the next plan
  std::int64_t steps_waited = 0;           // schedulers that hold prompts back count here
};

}  // namespace shardplan
