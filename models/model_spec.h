// What a model is, independent of any engine, machine or parallel strategy.
//
// A model is an embedding, a sequence of layers of a few kinds, and a head. Sizes are counts of
// elements; formats say how they are stored. Everything is read from the published config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "models/number_format.h"

namespace shardplan {

enum class AttentionKind {
  kGrouped,     // MHA, GQA and MQA: kv_heads of K and V are cached
  kLatent,      // MLA: one latent of kv_latent + rope_dim per token is cached, shared by all heads
  kRecurrent,   // linear attention and state space models: a constant state per request, nothing per token
  kCompressed,  // DeepSeek-V4: a window of tokens, and one entry for every `ratio` tokens before it
  kNone,        // the layer is an FFN alone
};

// How a recurrent mixer changes its state S [key_dim, value_dim] of one head, by one token (q, k, v).
enum class RecurrentRule {
  kGatedDelta,     // Qwen3-Next, Qwen3.5: S = a S + b k (v - a S^T k)^T, one decay a per head; y = S^T q
  kKeyGatedDelta,  // Kimi: the same with one decay per head and key column
  kStateSpace,     // Mamba2: S = a S + dt k v^T; y = S^T q + D v (k, q, v are B, C, x)
};

struct RecurrentSpec {
  RecurrentRule rule = RecurrentRule::kGatedDelta;
  std::int64_t key_heads = 0;    // of q and k; Mamba2: n_groups
  std::int64_t value_heads = 0;  // of v, the state and the output; a multiple of key_heads
  std::int64_t key_dim = 0;      // Mamba2: ssm_state_size
  std::int64_t value_dim = 0;
  std::int64_t conv_width = 0;  // taps of the causal convolution over q, k and v
  bool conv_bias = false;
  std::int64_t gate_rank = 0;    // of the output gate's projection; 0: one matrix
  std::int64_t state_bits = 32;  // of an element of S as the checkpoint asks for it; the convolution keeps 16
  friend bool operator==(const RecurrentSpec&, const RecurrentSpec&) = default;
};

// Sparse attention: an indexer scores all positions by keys of its own, queries attend to the best top_k.
struct IndexSpec {
  std::int64_t heads = 0;  // 0: attention is dense
  std::int64_t head_dim = 0;
  std::int64_t top_k = 0;  // positions a query attends to
  std::int64_t block = 1;  // consecutive positions that are chosen together (MiniMax-M3)
  bool weighted = false;   // heads are added with learned weights (DSA) instead of their largest taken
  bool shared = false;     // takes the choice of an earlier layer and has no indexer of its own (GLM-5.2)
  friend bool operator==(const IndexSpec&, const IndexSpec&) = default;
};

// DeepSeek-V4: what a layer of compressed attention keeps beside its window.
struct CompressedSpec {
  std::int64_t ratio = 0;        // tokens of one compressed entry; 0: the window alone
  std::int64_t output_rank = 0;  // o_lora_rank
  std::int64_t output_groups = 0;
  std::int64_t streams = 0;  // hc_mult: residual streams mixed around each block
  friend bool operator==(const CompressedSpec&, const CompressedSpec&) = default;
};

struct AttentionSpec {
  AttentionKind kind = AttentionKind::kGrouped;
  std::int64_t q_heads = 0;
  std::int64_t kv_heads = 0;    // kLatent, kNone: 1
  std::int64_t head_dim = 0;    // of Q and K; kLatent: nope_dim + rope_dim
  std::int64_t v_head_dim = 0;  // of V
  std::int64_t window = 0;      // tokens a query sees, itself included; 0: all
  bool qkv_bias = false;        // kLatent: on the two projections into the latents
  bool output_bias = false;
  bool qk_norm = false;        // RMSNorm of Q and K
  bool qk_norm_whole = false;  // over all heads together (MiniMax) instead of per head
  bool sinks = false;          // one learned logit per query head (gpt-oss)
  // kLatent only:
  std::int64_t q_latent = 0;   // q_lora_rank; 0: W_Q is one matrix
  std::int64_t kv_latent = 0;  // kv_lora_rank
  std::int64_t nope_dim = 0;   // per-head part of Q and K without position
  std::int64_t rope_dim = 0;   // rotary part, one for all KV heads
  bool chunked = false;        // `window` cuts positions into chunks instead of sliding (Llama-4)
  bool rotary = true;          // false: no positions (NoPE)
  bool output_gate = false;    // a gate per column of the output before o_proj
  bool value_is_key = false;   // V is K before its norm: no v_proj, both are cached (Gemma-4)
  IndexSpec index;             // sparse attention
  RecurrentSpec recurrent;     // kRecurrent; q_heads and kv_heads repeat its heads, head_dim is 0
  CompressedSpec compressed;   // kCompressed
  friend bool operator==(const AttentionSpec&, const AttentionSpec&) = default;
};

enum class FfnKind { kDense, kMoe, kNone };

// What stands between an FFN's products; all cost the same.
enum class Activation { kSilu, kRelu2 };

struct FfnSpec {
  FfnKind kind = FfnKind::kDense;
  std::int64_t intermediate = 0;  // kDense: of the MLP; kMoe: of one routed expert
  bool gated = true;              // gate and up (SwiGLU), or up alone
  bool bias = false;
  // kMoe only:
  std::int64_t experts = 0;  // routed experts
  std::int64_t experts_per_token = 0;
  std::int64_t shared_intermediate = 0;  // all shared experts together; 0: none
  bool shared_gate = false;              // a [hidden] gate on the shared expert (Qwen2-MoE, Qwen3.5)
  bool router_bias = false;              // one learned bias per expert
  std::int64_t groups = 1;               // n_group: group-limited routing
  std::int64_t groups_per_token = 1;     // topk_group
  bool renormalise = true;               // top-k weights sum to one
  std::int64_t expert_hidden = 0;        // width that routed experts work in, behind a projection; 0: hidden
  bool expert_norm = false;              // RMSNorm before the way back from there
  Activation activation = Activation::kSilu;
  friend bool operator==(const FfnSpec&, const FfnSpec&) = default;
};

// Formats by module family; each points into number_formats().
struct WeightFormats {
  const NumberFormat* attention = nullptr;         // projections into the heads, or into and out of the latents
  const NumberFormat* attention_output = nullptr;  // o_proj: DeepSeek-V3.1-NVFP4 quantises it alone
  const NumberFormat* dense_ffn = nullptr;
  const NumberFormat* shared_experts = nullptr;
  const NumberFormat* experts = nullptr;
  const NumberFormat* embedding = nullptr;
  const NumberFormat* head = nullptr;
  const NumberFormat* other = nullptr;  // norms, routers, biases
  friend bool operator==(const WeightFormats&, const WeightFormats&) = default;
};

struct LayerKind {
  std::string name;  // "dense", "moe", "moe_sliding", ...: for people
  AttentionSpec attention;
  FfnSpec ffn;
  WeightFormats formats;           // kinds may differ (modules_to_not_convert)
  bool post_norms = false;         // each branch is normalised before it is added, too (Gemma)
  std::int64_t extra_vectors = 0;  // further learned vectors of the hidden size: norms, residual mixing
  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};

// Parameter counts in elements; quantisation scales are not parameters. Biases count with the
// matrix that they belong to.
struct ParameterCount {
  std::int64_t embedding = 0;
  std::int64_t attention = 0;
  std::int64_t dense_ffn = 0;
  std::int64_t shared_experts = 0;
  std::int64_t experts = 0;
  std::int64_t other = 0;  // norms, routers
  std::int64_t head = 0;   // 0 when tied
  [[nodiscard]] std::int64_t total() const;
};

struct ModelSpec {
  std::string name;    // catalog name, or the file it came from
  std::string hf_id;   // Hugging Face id; may be empty
  std::string family;  // row of the family registry that read it
  std::int64_t hidden = 0;
  std::int64_t vocab = 0;          // as published, unpadded
  std::int64_t max_positions = 0;  // max_position_embeddings
  bool tied_embeddings = false;
  std::vector<LayerKind> kinds;             // distinct kinds, in order of first appearance
  std::vector<int> layers;                  // kind of each layer, in order
  WeightFormats formats;                    // of the embedding and head; layers carry their own
  const NumberFormat* kv_format = nullptr;  // default cache format ("auto": what engines pick)
  // Multi-token prediction: layers that run when tokens are drafted, all modules one after the other. Not in any count
  // but those named after them.
  std::vector<LayerKind> mtp_layers;
  std::int64_t mtp_modules = 0;
  std::int64_t vision_parameters = 0;  // of the towers for images; not in any other count
  std::int64_t vision_heads = 0;       // of its attention; 0: not known
  std::int64_t vision_values_per_token = 0;  // pixel values (colours and frames) behind one image token; 0: not known
  std::int64_t rotary_elements = 0;  // of the tables of cosines and sines that engines keep; not parameters
  std::string requested_format;        // weights were asked for in this format instead of the checkpoint's; empty: as published
  std::vector<std::string> notes;      // what was assumed or left out, for people

  [[nodiscard]] std::int64_t layer_count() const { return static_cast<std::int64_t>(layers.size()); }
  [[nodiscard]] std::int64_t layers_of_kind(int kind) const;
  [[nodiscard]] bool is_moe() const;
  [[nodiscard]] bool has_window() const;
  // Largest values over the kinds; what a head-aligned split must divide.
  [[nodiscard]] std::int64_t max_experts() const;
  // The attention that limits how heads and positions are split: of the first kind that caches tokens, or the first
  // kind's.
  [[nodiscard]] const AttentionSpec& main_attention() const;
};

// Elements by family. Tied heads count once. Published totals of these models leave MTP layers out.
[[nodiscard]] ParameterCount count_parameters(const ModelSpec& model);
// Parameters a token passes through: all but the routed experts it is not sent to. The embedding counts
// whole, as in "A3B" and "A22B" (gpt-oss publishes its active parameters without it).
[[nodiscard]] std::int64_t count_active_parameters(const ModelSpec& model);
// Stored bytes of all weights with scales, unsharded.
[[nodiscard]] Bytes weight_bytes(const ModelSpec& model);
// Cache bytes of one more token over all layers, unsharded, while inside every window:
// K and V of every head, or the latent; keys of indexers; a share of a compressed entry.
// DeepSeek-V3 bf16: 61*(512+64)*2 = 70,272. GLM-5.2 fp8: 78*656 + 21*132.
[[nodiscard]] Bytes cache_bytes_per_token(const ModelSpec& model, const NumberFormat& kv);
// Bytes of state that a request holds whatever its length: of recurrent layers, and of compressors (keys and gates of the
// tokens that an unfinished entry reads, fp32). Windows are not in it.
[[nodiscard]] Bytes state_bytes_per_request(const ModelSpec& model);
// FLOPs of one decode token that attends to `context` positions: products with weights, attention, indexer and
// recurrence; elementwise work left out.
[[nodiscard]] double flops_per_token(const ModelSpec& model, double context);
// Of it, the recurrence and its convolution in one layer: (1 + 2 products) per cell of the state.
[[nodiscard]] double recurrent_flops_per_token(const RecurrentSpec& spec);
// Weights of the MTP modules (their embedding and head are the model's own), stored bytes, cache of one more token.
[[nodiscard]] std::int64_t count_mtp_parameters(const ModelSpec& model);
[[nodiscard]] Bytes mtp_weight_bytes(const ModelSpec& model);
[[nodiscard]] Bytes mtp_cache_bytes_per_token(const ModelSpec& model, const NumberFormat& kv);

// How a latent is stored when the cache is in `kv`: sparse attention keeps the rotary part in bf16 and scales of its
// own beside fp8 (656 bytes for 576 elements).
[[nodiscard]] const NumberFormat& latent_cache_format(const AttentionSpec& attention, const NumberFormat& kv);
// How DeepSeek-V4 stores a window's key and a compressed entry alike when the cache is in `kv`.
[[nodiscard]] const NumberFormat& compressed_cache_format(const NumberFormat& kv);
// Keys of an indexer, whatever the cache: fp8 with one scale per key.
[[nodiscard]] const NumberFormat& index_cache_format();

// Elements cached per token by one layer of `attention` (K and V, or the latent).
[[nodiscard]] std::int64_t cache_elements_per_token(const AttentionSpec& attention);

// True when the kinds differ at most in their names.
[[nodiscard]] bool same_layer(const LayerKind& a, const LayerKind& b);

// Appends one layer; joins the first kind that is equal but for its name, or becomes a new kind.
void append_layer(ModelSpec& model, const LayerKind& kind);

// Weight formats replaced on request: what --weight-dtype does (embedding, head, router and norms stay).
// Kinds that differed in their formats alone become one.
void override_weight_format(ModelSpec& model, const NumberFormat& format);

}  // namespace shardplan
