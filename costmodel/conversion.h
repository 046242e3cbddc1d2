// From one placement of a value to another: the communication nodes between them.
//
//   Replicate -> Shard                slice          Partial(sum) -> Shard       reduce-scatter
//   Shard -> Replicate                all-gather     Partial(sum) -> Replicate   all-reduce
//   Shard(a) -> Shard(b), new layout  all-to-all     Partial(lse) -> Shard(heads) one exchange, or -> Partial(sum)
// In the order that moves least: merge LSE, slice, reduce-scatter, all-to-all, all-reduce, all-gather.
#pragma once

#include <vector>

#include "costmodel/placement.h"
#include "costmodel/step_graph.h"

namespace shardplan {

struct ConversionStep {
  NodeKind kind = NodeKind::kSlice;
  DigitSet group;
  Placement to;      // placement after this step
};

// Steps from `from` to `to`; empty when equal. `exchange_lse`: merge partial attention in one exchange where heads take
// the digits. Throws LoweringRefusal (rule "placement") when no sequence of tail edits gets there.
[[nodiscard]] std::vector<ConversionStep> conversion_steps(const Placement& from, const Placement& to, bool exchange_lse, const Mesh& mesh);

// Whether `to` is reached by slices alone: the value is already there.
[[nodiscard]] bool is_local(const Placement& from, const Placement& to);

}  // namespace shardplan
