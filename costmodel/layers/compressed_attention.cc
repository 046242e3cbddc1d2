// DeepSeek-V4's attention: a window of tokens, and one compressed entry for every `ratio` tokens, in one softmax.
//
// Queries come from a latent; one key serves all heads and is its own value. A compressor mixes the keys of `ratio`
// tokens (twice as many at ratio 4, where neighbours overlap) by a softmax over learned gates. Where entries are many
// (ratio 4) an indexer, whose keys a second compressor makes, chooses the best top_k of them. Outputs pass a low-rank
// projection by groups of heads. Latents, entries and both compressors are the same on every rank of a group, as
// engines run them. Sources: DeepSeek-V4's published config and inference code.
#include <algorithm>
#include <cmath>

#include "costmodel/layers/builder.h"
#include "costmodel/layers/index.h"

namespace shardplan {
namespace {

// What a compressor is called.
struct CompressorNames {
  const char* product;
  const char* op;
  const char* kv_weight;
  const char* gate_weight;
  const char* table;
  const char* state;
  const char* entries;
  const char* normed;
  const char* rotated;
};

constexpr CompressorNames kKeyNames{
    "compress_in",    "compress",    "w_compress_kv",  "w_compress_gate", "w_compress_position",
    "state_compress", "entries_raw", "entries_normed", "entries"};
constexpr CompressorNames kIndexNames{"index_compress_in",
                                      "index_compress",
                                      "w_index_compress_kv",
                                      "w_index_compress_gate",
                                      "w_index_compress_position",
                                      "state_index_compress",
                                      "index_entries_raw",
                                      "index_entries_normed",
                                      "index_k"};

// One entry of `width` columns for every `ratio` tokens, held in the row of the last of them.
TensorId build_compressor(LayerBuilder& build, TensorId x, const CompressorNames& names, std::int64_t width,
                          const LayerKind& kind) {
  const CompressOp shape{.ratio = kind.attention.compressed.ratio, .width = width};
  const DimExtent hidden{Dim::kHidden, build.model().hidden};
  const DimExtent columns{Dim::kHeadDim, shape.columns()};
  const NumberFormat* format = kind.formats.other;
  const IdList made = build.matmul(names.product, x,
                                   {build.weight(names.kv_weight, Part::kAttention, {columns}, {hidden}, format),
                                    build.weight(names.gate_weight, Part::kAttention, {columns}, {hidden}, format)},
                                   {"compress_kv", "compress_gate"}, Part::kAttention);
  const TensorId table = build.vector(names.table, Part::kAttention, {{Dim::kHeadDim, shape.ratio * shape.columns()}});
  const TensorId entries = build.activation(names.entries, Part::kAttention, {{Dim::kHeadDim, width}});
  LogicalOp op{.kind = OpKind::kCompress, .name = names.op, .inputs = made, .weights = {table}, .outputs = {entries}};
  op.outputs.push_back(
      build.state(names.state, {{Dim::kHeadDim, 2 * shape.span() * shape.columns()}}, find_format("fp32")));
  op.compress = shape;
  build.graph.op(std::move(op));
  const std::int64_t rotary = std::min(kind.attention.rope_dim, width);
  return build.rotary(build.norm(names.normed, entries), names.rotated, rotary);
}

struct Operands {
  TensorId q = -1;
  TensorId key = -1;      // of the window
  TensorId entries = -1;  // -1: the window alone
  TensorId sinks = -1;
  Indexer indexer;  // q is -1 where all entries are attended to
};

IdList caches(LayerBuilder& build, const AttentionSpec& spec, Phase phase) {
  const NumberFormat& format = compressed_cache_format(*build.formats().kv);
  IdList ids{build.cache("cache_window", {{Dim::kHeadDim, spec.head_dim}}, phase, &format)};
  build.graph.tensors[static_cast<std::size_t>(ids[0])].window = spec.window;
  if (spec.compressed.ratio == 0) return ids;
  ids.push_back(build.cache("cache_entries", {{Dim::kHeadDim, spec.head_dim}}, phase, &format));
  Tensor& entries = build.graph.tensors[static_cast<std::size_t>(ids[1])];
  entries.every = entries.stripe = spec.compressed.ratio;
  return ids;
}

TensorId attend(LayerBuilder& build, const Operands& of, IdList inputs, TensorId selection, const AttentionSpec& spec,
                Phase phase) {
  const bool decode = phase == Phase::kDecode;
  const TensorId o = build.activation(decode ? "o_decode" : "o_prefill", Part::kAttention,
                                      {{Dim::kHeads, spec.q_heads}, {Dim::kHeadDim, spec.head_dim}}, phase);
  AttentionOp shape{.phase = phase,
                    .qk_dim = spec.head_dim,
                    .v_dim = spec.head_dim,
                    .window = spec.window,
                    .shared_kv = true,
                    .score_scale = 1.0 / std::sqrt(static_cast<double>(spec.head_dim)),
                    .sinks = spec.sinks,
                    .top_k = spec.index.top_k,
                    .selects = selection >= 0,
                    .entry_tokens = spec.compressed.ratio};
  if (selection >= 0) inputs.push_back(selection);
  LogicalOp op{.kind = OpKind::kAttention,
               .name = decode ? "attention_decode" : "attention_prefill",
               .inputs = inputs,
               .outputs = {o},
               .attention = shape};
  if (of.sinks >= 0) op.weights = {of.sinks};
  build.graph.op(std::move(op));
  return o;
}

TensorId split_entries(LayerBuilder& build, const char* name, TensorId entries, const AttentionSpec& spec, Phase phase) {
  const TensorId id = build.split(name, entries, phase);
  build.graph.tensors[static_cast<std::size_t>(id)].stripe = spec.compressed.ratio;
  return id;
}

TensorId attend_decode(LayerBuilder& build, const Operands& of, const AttentionSpec& spec) {
  const TensorId q = build.split("q_decode", of.q, Phase::kDecode);
  IdList fresh{build.split("key_decode", of.key, Phase::kDecode)};
  if (of.entries >= 0) fresh.push_back(split_entries(build, "entries_decode", of.entries, spec, Phase::kDecode));
  const IdList held = caches(build, spec, Phase::kDecode);
  build.append(fresh, held);
  const TensorId selection = of.indexer.q >= 0 ? select_decode(build, of.indexer, spec.index) : -1;
  IdList inputs{q};
  inputs.insert(inputs.end(), held.begin(), held.end());
  return attend(build, of, inputs, selection, spec, Phase::kDecode);
}

TensorId attend_prefill(LayerBuilder& build, const Operands& of, const AttentionSpec& spec) {
  const TensorId q = build.split("q_prefill", of.q, Phase::kPrefill);
  IdList fresh{build.split("key_prefill", of.key, Phase::kPrefill)};
  if (of.entries >= 0) fresh.push_back(split_entries(build, "entries_prefill", of.entries, spec, Phase::kPrefill));
  const IdList held = caches(build, spec, Phase::kPrefill);
  const TensorId selection = of.indexer.q >= 0 ? select_prefill(build, of.indexer, spec.index) : -1;
  IdList inputs{q, fresh[0], build.prefix("prefix_window", held[0])};
  if (of.entries >= 0) {
    inputs.push_back(fresh[1]);
    inputs.push_back(build.prefix("prefix_entries", held[1]));
  }
  const TensorId o = attend(build, of, inputs, selection, spec, Phase::kPrefill);
  build.append(fresh, held);
  return o;
}

Indexer build_entry_indexer(LayerBuilder& build, TensorId x, TensorId q_latent, const LayerKind& kind) {
  const IndexSpec& spec = kind.attention.index;
  const DimExtent heads{Dim::kIndexHeads, spec.heads};
  const DimExtent width{Dim::kHeadDim, spec.head_dim};
  const std::int64_t rotary = std::min(kind.attention.rope_dim, spec.head_dim);
  Indexer indexer{.every = kind.attention.compressed.ratio};
  indexer.weights = build.matmul("index_weights", x,
                                 {build.weight("w_index_weights", Part::kAttention, {heads},
                                               {{Dim::kHidden, build.model().hidden}}, kind.formats.other)},
                                 {"index_weights"}, Part::kAttention)[0];
  const TensorId w_q = build.weight("w_index_q", Part::kAttention, {heads, width},
                                    {build.graph.tensor(q_latent).dims.back()}, kind.formats.attention);
  const TensorId q = build.matmul("index_q", q_latent, {w_q}, {"index_q_raw"}, Part::kAttention)[0];
  indexer.q = build.rotary(q, "index_q", rotary);
  indexer.k = build_compressor(build, x, kIndexNames, spec.head_dim, kind);
  return indexer;
}

// Heads of a group are columns of one wide input: o_rank columns per group, then all groups to the hidden size.
TensorId project_out(LayerBuilder& build, TensorId o, const LayerKind& kind) {
  const AttentionSpec& spec = kind.attention;
  const std::int64_t groups = spec.compressed.output_groups;
  const DimExtent group{Dim::kHeads, groups};
  const DimExtent columns{Dim::kHeadDim, spec.q_heads / groups * spec.head_dim};
  const DimExtent rank{Dim::kOutputLatent, spec.compressed.output_rank};
  const NumberFormat* format = kind.formats.attention_output;
  const TensorId grouped =
      build.activation("o_grouped", Part::kAttention, {group, columns}, build.graph.tensor(o).phase);
  build.graph.op(
      {.kind = OpKind::kRegroup, .name = "o_grouped", .inputs = {o}, .outputs = {grouped}, .own_kernel = false});
  const TensorId narrow = build.activation("o_narrow", Part::kAttention, {group, rank}, build.graph.tensor(o).phase);
  build.matmul_into("o_down", grouped, build.weight("w_o_a", Part::kAttention, {group, rank}, {columns}, format),
                    narrow, 0);
  const TensorId w_o_b =
      build.weight("w_o_b", Part::kAttention, {{Dim::kHidden, build.model().hidden}}, {group, rank}, format);
  return build.matmul("o_proj", narrow, {w_o_b}, {"attention_out"}, Part::kAttention)[0];
}

}  // namespace

TensorId build_compressed_attention(LayerBuilder& build, TensorId x, const LayerKind& kind) {
  const AttentionSpec& spec = kind.attention;
  const NumberFormat* format = kind.formats.attention;
  const DimExtent hidden{Dim::kHidden, build.model().hidden};
  const DimExtent latent{Dim::kQueryLatent, spec.q_latent};
  const DimList q_dims{{Dim::kHeads, spec.q_heads}, {Dim::kHeadDim, spec.head_dim}};
  const IdList down =
      build.matmul("qkv_down", x,
                   {build.weight("w_q_a", Part::kAttention, {latent}, {hidden}, format),
                    build.weight("w_key", Part::kAttention, {{Dim::kHeadDim, spec.head_dim}}, {hidden}, format)},
                   {"q_a", "key_raw"}, Part::kAttention);
  const TensorId q_latent = build.norm("q_a_normed", down[0]);
  const TensorId key = build.norm("key_normed", down[1]);
  const TensorId q = build.matmul("q_up", q_latent, {build.weight("w_q_b", Part::kAttention, q_dims, {latent}, format)},
                                  {"q_raw"}, Part::kAttention)[0];
  Operands of;
  of.q = build.rotary_pair(q, key, "q", "key", spec.rope_dim, of.key);
  if (spec.compressed.ratio > 0) of.entries = build_compressor(build, x, kKeyNames, spec.head_dim, kind);
  if (spec.index.heads > 0) of.indexer = build_entry_indexer(build, x, q_latent, kind);
  if (spec.sinks) of.sinks = build.vector("w_sinks", Part::kAttention, {{Dim::kHeads, spec.q_heads}});
  const TensorId decode = build.has_decode() ? attend_decode(build, of, spec) : -1;
  const TensorId prefill = build.has_prefill() ? attend_prefill(build, of, spec) : -1;
  return project_out(build, build.join("o", decode, prefill), kind);
}

}  // namespace shardplan
