// The most bytes of activations that are live at once on the busiest rank during one graph.
//
// A value lives from the node that makes it to the last node that reads it; the residual stream lives throughout.
// Tokens that came to the ranks of their experts count as spread evenly; under a capacity factor as the buffers that hold them:
// experts on the rank * capacity, at most the group's tokens.
// Values that a later kernel reads in place (views, in-place adds) are counted once. What an engine holds beyond
// that is StepBuffers. Wrong by what a kernel keeps inside and by an allocator's fragments.
#pragma once

#include "base/quantity.h"
#include "costmodel/batch.h"
#include "costmodel/step_graph.h"

namespace shardplan {

// What an engine holds in its largest step beyond the live values of the graph; as lean as the graph by default.
struct StepBuffers {
  Bytes library;                      // cuBLAS workspaces and small inputs, throughout
  Bytes benchmark;                    // what the compiler times kernels with while it first runs a layer
  double sampler_bytes_per_logit = 0; // probabilities, draws, sorted copies: beside the fp32 logits of every sequence
  bool copies_logits = false;         // and the logits in the activation format, which stay while they are sampled
  std::int64_t sampler_rows = 0;      // further fp32 rows over the vocabulary
  bool holds_inputs = false;          // what a compiled piece (from one attention to the next) reads lives to its end
  bool keeps_expert_buffers = false;  // workspaces of routed experts stay when the forward is over, but for 4-bit experts
  std::int64_t expert_chunk = 0;      // tokens that routed experts take at once; 0: all
  bool keeps_stage_inputs = false;    // later stages keep the residual stream and the branch that they receive
  bool keeps_embedded = false;        // the first stage keeps the embedded tokens through the forward
  bool keeps_images = false;          // the pixels and embeddings of the images profiled live throughout
};

[[nodiscard]] Bytes activation_peak(const StepGraph& graph, const BatchShape& shape, const StepBuffers& buffers = {});

// Workspaces of a layer's routed experts: rows = tokens * experts per token of
//   max(gate and up, model width) + max(intermediate, model width), in the activation format. 0: no routed experts.
//   Under a capacity factor rows = experts on the rank * capacity, where that is fewer.
[[nodiscard]] Bytes expert_buffers(const StepGraph& graph, const BatchShape& shape, const StepBuffers& buffers);
// The residual stream on a rank.
[[nodiscard]] Bytes residual_bytes(const StepGraph& graph, const BatchShape& shape);
// Tokens of a rank in the largest step.
[[nodiscard]] double residual_tokens(const StepGraph& graph, const BatchShape& shape);

}  // namespace shardplan
