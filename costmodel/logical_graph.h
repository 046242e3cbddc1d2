// What a layer computes, the same for every strategy: operations on named-dimension tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "costmodel/tensor.h"
#include "models/model_spec.h"

namespace shardplan {

enum class OpKind : std::uint8_t {
  kEmbed,      // token ids x table [vocab, hidden] -> x
  kNorm,       // RMSNorm over the last dimension, whole; with a second input, by its sums of squares over all heads
  kSquares,    // sums of squares of each input's heads and columns, one column for each input: [tokens, inputs]
  kMatmul,     // x times weights, by dimension names: in x, weight and output: batch; in x and weight: contracted
  kRotary,     // in place on Q and K: rotary embedding (and Q/K norm)
  kAppend,     // new K and V (or latent) into the cache
  kPrefix,     // a view of the cached positions before this step
  kAttention,  // decode: (q, caches); prefill: (q, fresh k, v, prefix k, v); then a selection, if it is sparse
  kIndex,      // sparse attention: (q, [weights of heads,] cached or fresh and prefix keys) -> positions for each token
  kChoose,     // the best of several ranks' candidates -> positions for each token
  kCompress,   // (keys, gates) -> an entry for every `ratio` tokens of a request; reads and writes its unfinished block
  kRegroup,    // a view: heads of a group become columns of one head
  kStreamsIn,  // residual streams and their mixing weights -> what a block reads (without weights: the mean)
  kStreamsOut, // (streams, block's output, mixing weights) -> streams (of a single value: as many copies)
  kScan,       // recurrent mixer: (q, k, v, decay[, beta]) -> y; reads and writes the state of each request
  kActivate,   // SwiGLU and the like, elementwise on gate and up (or on a gate and what it gates)
  kRoute,      // router logits -> k experts and weights of each token
  kAdmit,      // routing of all tokens that share the experts -> the same without what is over an expert's capacity
  kExperts,    // routed experts, all of gate, up, down
  kAdd,        // residual plus branch
  kConcat,     // inputs side by side in one last dimension
  kSplit,      // tokens of one phase (mixed steps)
  kJoin,       // both phases together again
  kLast,       // the tokens whose logits are needed
  kSample,     // gathered logits -> token ids
};
[[nodiscard]] const char* op_name(OpKind kind);

// A position (or block) of a selection; a candidate for it with its fp32 score.
[[nodiscard]] const NumberFormat& position_format();
[[nodiscard]] const NumberFormat& candidate_format();

// Attention as this op runs it (MLA decodes absorbed: one shared latent head; prefills expanded).
struct AttentionOp {
  Phase phase = Phase::kDecode;
  std::int64_t qk_dim = 0;
  std::int64_t v_dim = 0;
  std::int64_t window = 0;
  bool causal = true;
  bool shared_kv = false;      // V is a view of K's first v_dim columns (MLA absorbed): counted once
  double score_scale = 1.0;    // softmax scale: 1/sqrt(of the unabsorbed width)
  bool sinks = false;
  bool chunked = false;        // `window` cuts positions into chunks; priced as a window of that size
  std::int64_t top_k = 0;      // positions of the selection (0: all that are visible)
  bool selects = false;        // the selection is the last input; otherwise another layer made it
  // Behind the keys (decode: one cache; prefill: fresh and prefix) come as many inputs of compressed entries: one for so
  // many tokens, visible when whole, whatever the window; the selection is among them. 0: none.
  std::int64_t entry_tokens = 0;
};

struct IndexOp {
  Phase phase = Phase::kDecode;
  std::int64_t heads = 0;
  std::int64_t dim = 0;
  std::int64_t top_k = 0;
  std::int64_t block = 1;      // consecutive positions chosen together
  bool weighted = false;       // score = sum of w_h relu(q_h k) over heads; otherwise the largest q_h k
  std::int64_t every = 1;      // tokens of one key (compressed entries)
};

// Entries of compressed attention. At ratio 4 an entry reads the block before its own, too, through columns of its own.
struct CompressOp {
  std::int64_t ratio = 0;
  std::int64_t width = 0;      // of an entry
  [[nodiscard]] bool overlaps() const { return ratio == 4; }
  [[nodiscard]] std::int64_t columns() const { return width * (overlaps() ? 2 : 1); }   // of keys and gates
  [[nodiscard]] std::int64_t span() const { return ratio * (overlaps() ? 2 : 1); }      // tokens that an entry reads
};

// What stands between the products of an MLP, or between a gate and what it gates.
enum class ElementFunction : std::uint8_t { kSilu, kRelu2, kSigmoid };

struct ExpertsOp {
  std::int64_t experts = 0;
  std::int64_t per_token = 0;
  std::int64_t intermediate = 0;
  bool gated = true;
  bool renormalise = true;
  ElementFunction function = ElementFunction::kSilu;
  const NumberFormat* dispatch_format = nullptr;  // of tokens on the wire; nullptr: as they are
  double capacity_factor_ratio = 0;   // tokens of a step that an expert takes, over T*k/E; 0: all that pick it
};

struct LogicalOp {
  OpKind kind;
  const char* name = "";           // for tables: "qkv", "attention", "gate_up", ...
  InlineVector<TensorId, 6> inputs;    // activations, then caches
  InlineVector<TensorId, 6> weights;   // kMatmul: one output per weight, in order; kAttention: the sinks
  InlineVector<TensorId, 6> biases;    // kMatmul, kRoute, kExperts: of each weight, -1 for none; empty: none at all
  InlineVector<TensorId, 6> outputs;
  bool own_kernel = true;          // false: fused into its neighbour by every engine (residual add, rotary)
  // Trailing columns of the input's last dimension that bypass the op: kNorm leaves them alone; kMatmul, per weight, copies
  // them behind the product (broadcast over new dimensions), or drops them where 0 and the weight is narrower than x.
  InlineVector<std::int64_t, 6> carry;
  std::int64_t squares_column = 0; // kNorm with a second input: which column of it
  std::int64_t rotary_columns = 0; // kRotary: trailing columns of the last dimension that are rotated
  AttentionOp attention;           // kAttention
  ExpertsOp experts;               // kRoute, kAdmit, kExperts
  IndexOp index;                   // kIndex
  RecurrentSpec scan;              // kScan
  CompressOp compress;             // kCompress
  ElementFunction function = ElementFunction::kSilu;   // kActivate
};

struct LogicalGraph {
  std::vector<Tensor> tensors;
  std::vector<LogicalOp> ops;
  TensorId residual_in = -1;       // -1: the graph starts from token ids (embedding)
  TensorId residual_out = -1;      // -1: the graph ends in token ids (head)

  TensorId add(Tensor tensor);
  LogicalOp& op(LogicalOp op);
  [[nodiscard]] const Tensor& tensor(TensorId id) const { return tensors[static_cast<std::size_t>(id)]; }
};

// Which tokens a step holds. kMixed has both phases: two attention nodes, one of everything else.
enum class StepForm : std::uint8_t { kDecode, kPrefill, kMixed };
[[nodiscard]] const char* form_name(StepForm form);

struct GraphFormats {
  const NumberFormat* activation = nullptr;  // residual stream, Q, O, ...
  const NumberFormat* kv = nullptr;
  const NumberFormat* dispatch = nullptr;    // tokens sent to experts; nullptr: activation
};

// Dimensions of the residual stream beside its tokens: the hidden size, of each of several streams where a model has them.
[[nodiscard]] DimList residual_dims(const ModelSpec& model);

// One transformer layer; embedding; final norm, head and sampling of the tokens of `rows` (kVerified or kLast).
[[nodiscard]] LogicalGraph layer_graph(const ModelSpec& model, const LayerKind& kind, StepForm form, const GraphFormats& formats);
[[nodiscard]] LogicalGraph embedding_graph(const ModelSpec& model, StepForm form, const GraphFormats& formats);
[[nodiscard]] LogicalGraph head_graph(const ModelSpec& model, StepForm form, const GraphFormats& formats, Phase rows = Phase::kVerified);
// What an MTP module reads: the hidden state of each token beside the embedding of the one after it, both normed, in one
// product back to the hidden size. Its layers are layer_graph, its head head_graph with a norm of its own.
[[nodiscard]] LogicalGraph draft_entry_graph(const ModelSpec& model, StepForm form, const GraphFormats& formats);

}  // namespace shardplan
