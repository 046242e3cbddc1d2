// Where the parts of a value lie: per named dimension an ordered list of (digit, layout), and the
// digits over which the value is partial or routed. A digit in none of them is Replicate.
//
// Lists are edited only at their tail (outer splits stay while inner ones come and go), which
// keeps every conversion a single collective. See costmodel/index_sets.h for what a list selects.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "costmodel/mesh.h"

namespace shardplan {

// The named dimensions of the logical graph.
enum class Dim : std::uint8_t {
  kTokens,     // ragged: the step's new tokens, a list of (request, position)
  kPositions,  // ragged: cached positions of the step's requests
  kRequests,   // ragged: the step's requests, one element each (state of recurrent layers)
  kHidden,
  kHeads,      // query heads
  kKvHeads,
  kHeadDim,    // width of a head (any of its kinds); never sharded
  kQueryLatent,
  kKvLatent,   // MLA latent with its rotary part; never sharded
  kFfn,        // MLP or expert intermediate
  kExperts,
  kRouted,     // k experts of a token; never sharded
  kExpertHidden,  // width that latent experts work in; never sharded
  kIndexHeads,    // heads of a sparse attention's indexer; never sharded
  kSelected,      // positions chosen for a token; never sharded
  kVocab,
  kOutputLatent,  // rank of a low-rank output projection; never sharded
  kStreams,       // residual streams (DeepSeek-V4); never sharded
  kMix,           // mixing weights of residual streams; never sharded
  kPair,          // embedding and hidden state of a token, side by side (MTP); never sharded
};
[[nodiscard]] const char* dim_name(Dim dim);

enum class Layout : std::uint8_t {
  kContiguous,  // part p of P holds [floor(p*n/P), floor((p+1)*n/P)); tokens: of the flat list
  kWhole,       // as contiguous, but never empty: part p holds at least element floor(p*n/P) (KV-head replication)
  kByRequest,   // tokens/positions: whole requests, contiguous by request order within each phase
  kBlocked,     // tokens: per request, contiguous by position
  kZigzag,      // tokens: per request, blocks p and 2P-1-p of 2P
  kStriped,     // tokens/positions: absolute position / interleave mod P
};
[[nodiscard]] const char* layout_name(Layout layout);

struct Shard {
  Dim dim = Dim::kTokens;
  Digit digit = 0;
  Layout layout = Layout::kContiguous;
  friend bool operator==(const Shard&, const Shard&) = default;
};

using ShardList = InlineVector<Shard, 16>;

struct Placement {
  ShardList shards;  // grouped by dim in no particular order; order within a dim is the split order
  DigitSet sum;               // Partial(sum): to be added
  DigitSet lse;               // Partial(lse): attention output with its log-sum-exp, to be merged
  DigitSet routed;            // Routed: a token set per rank known at run time

  [[nodiscard]] ShardList of(Dim dim) const;      // the list of one dimension, outermost first
  [[nodiscard]] DigitList digits(Dim dim) const;
  [[nodiscard]] const Shard* at(Digit digit) const;         // the shard that uses `digit`, or nullptr
  [[nodiscard]] DigitSet sharded() const;                   // digits that shard some dimension
  void append(Dim dim, const DigitList& digits, Layout layout);
  void remove(DigitSet digits);                             // shards on these digits vanish (order of the rest kept)
  // Same value on every rank of every group; lists compare per dimension.
  friend bool operator==(const Placement& a, const Placement& b);
  // "heads/[1,2] kv_heads/[1] sum{0}": digits by dimension, with the layout unless contiguous ("tokens/[0 zigzag,2]");
  // "replicate" when nothing is split. For messages and tests.
  [[nodiscard]] std::string text(const Mesh& mesh) const;
};

}  // namespace shardplan
