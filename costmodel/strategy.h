// A strategy as a table: where weights, caches and the residual stream are placed on the mesh.
//
// A row says "this dimension of these tensors is split over these digits in this layout". Rows select by part of
// the model, or by one tensor's name, so that a new model family is placed without touching a strategy. Rows for the
// same (tensor, dimension) add inner splits in order, unless a row says that it replaces what stands.
// Everything else follows from the rules of the operations.
#pragma once

#include <string_view>
#include <vector>

#include "costmodel/logical_graph.h"
#include "costmodel/mesh.h"
#include "costmodel/parallel_config.h"
#include "costmodel/placement.h"

namespace shardplan {

// The digits of each axis of a configuration, outermost first.
struct Axes {
  DigitList dpa, pcp, tp;
  DigitList heads;      // digits over which decode splits heads: tp without its dcp digits
  DigitList cp;         // digits over which cached positions are split
  DigitList moe_dp, ep, moe_tp;
  DigitList dense, shared;
};

struct PlaceRow {
  Part part;
  std::string_view name;    // empty: every weight or cache of the part that has `dim`
  Dim dim;
  DigitList digits;
  Layout layout = Layout::kContiguous;
  bool replace = false;
};

// An activation sent through an intermediate placement as soon as it is computed: one dimension is re-placed, and
// gives up nothing but digits that another dimension held (an all-to-all).
struct PinRow {
  std::string_view name;    // tensor name
  Dim dim;
  DigitList digits;         // the whole new list of the dimension (empty: Replicate)
  Layout layout = Layout::kContiguous;
  bool keep_request_split = true;  // an outer by-request run of the dimension stays
};

struct Strategy {
  Mesh mesh;
  Axes axes;
  std::vector<PlaceRow> rows;
  std::vector<PinRow> pins;
  Placement residual;                    // of the residual stream between blocks
  std::int64_t cp_interleave = 1;
  bool exchange_lse = false;             // Partial(lse) -> Shard(heads) in one exchange
  bool dispatch_experts = false;         // all-to-all to the experts' ranks
  double capacity_factor_ratio = 0;      // of routed experts; 0: nothing is dropped
  bool ring_attention = false;           // fuse K/V all-gathers and prefill attention into a ring
  std::int64_t hop_b = 1;
  Overlap overlap = Overlap::kNone;
  std::int64_t overlap_parts = 1;

  // Placement of a weight or cache tensor by the rows.
  [[nodiscard]] Placement place(const Tensor& tensor) const;
};

}  // namespace shardplan
