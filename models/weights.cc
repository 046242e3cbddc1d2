#include "models/weights.h"

#include "base/errors.h"

namespace shardplan {
namespace {

// Collects tensors of one family after the other.
class Collector {
 public:
  void matrix(std::string_view name, ModuleFamily family, std::int64_t rows, std::int64_t columns,
              std::int64_t copies = 1) {
    tensors_.push_back({name, family, rows, columns, copies, family != ModuleFamily::kOther, true});
  }
  void table(std::string_view name, std::int64_t rows, std::int64_t columns) {
    tensors_.push_back({name, ModuleFamily::kOther, rows, columns, 1, false, false});
  }
  void vector(std::string_view name, ModuleFamily family, std::int64_t rows, std::int64_t copies = 1) {
    tensors_.push_back({name, family, rows, 1, copies, false, false});
  }
  [[nodiscard]] std::vector<WeightTensor> take() { return std::move(tensors_); }

 private:
  std::vector<WeightTensor> tensors_;
};

void add_grouped_attention(Collector& collect, const AttentionSpec& attention, std::int64_t hidden) {
  constexpr auto kIn = ModuleFamily::kAttention;
  const std::int64_t q = attention.q_heads * attention.head_dim;
  const std::int64_t k = attention.kv_heads * attention.head_dim;
  const std::int64_t v = attention.kv_heads * attention.v_head_dim;
  collect.matrix("q", kIn, q, hidden);
  collect.matrix("k", kIn, k, hidden);
  if (!attention.value_is_key) collect.matrix("v", kIn, v, hidden);
  if (attention.output_gate) collect.matrix("output_gate", kIn, attention.q_heads * attention.v_head_dim, hidden);
  if (attention.qkv_bias) {
    collect.vector("q_bias", kIn, q);
    collect.vector("k_bias", kIn, k);
    collect.vector("v_bias", kIn, v);
  }
  if (attention.qk_norm) {
    collect.vector("q_norm", ModuleFamily::kOther, attention.qk_norm_whole ? q : attention.head_dim);
    collect.vector("k_norm", ModuleFamily::kOther, attention.qk_norm_whole ? k : attention.head_dim);
  }
  if (attention.sinks) collect.vector("sinks", kIn, attention.q_heads);
}

void add_latent_attention(Collector& collect, const AttentionSpec& attention, std::int64_t hidden) {
  constexpr auto kIn = ModuleFamily::kAttention;
  const std::int64_t q = attention.q_heads * attention.head_dim;
  if (attention.q_latent > 0) {
    collect.matrix("q_a", kIn, attention.q_latent, hidden);
    if (attention.qkv_bias) collect.vector("q_a_bias", kIn, attention.q_latent);
    collect.vector("q_a_norm", ModuleFamily::kOther, attention.q_latent);
    collect.matrix("q_b", kIn, q, attention.q_latent);
  } else {
    collect.matrix("q", kIn, q, hidden);
  }
  const std::int64_t cached = attention.kv_latent + attention.rope_dim;
  collect.matrix("kv_a", kIn, cached, hidden);
  if (attention.qkv_bias) collect.vector("kv_a_bias", kIn, cached);
  collect.vector("kv_a_norm", ModuleFamily::kOther, attention.kv_latent);
  collect.matrix("kv_b", kIn, attention.q_heads * (attention.nope_dim + attention.v_head_dim), attention.kv_latent);
  if (attention.output_gate) collect.matrix("output_gate", kIn, attention.q_heads * attention.v_head_dim, hidden);
}

void add_indexer(Collector& collect, const AttentionSpec& attention, std::int64_t hidden) {
  const IndexSpec& index = attention.index;
  if (index.heads == 0 || index.shared) return;
  constexpr auto kIn = ModuleFamily::kAttention;
  collect.matrix("index_q", kIn, index.heads * index.head_dim, attention.q_latent > 0 ? attention.q_latent : hidden);
  collect.matrix("index_k", kIn, index.head_dim, hidden);
  if (index.weighted) collect.matrix("index_weights", ModuleFamily::kOther, index.heads, hidden);
  collect.vector("index_norms", ModuleFamily::kOther, 2 * index.head_dim);
}

// Q, K, V (in Mamba2: C, B, x), gates and decays, then the convolution and the vectors of the recurrence.
void add_recurrent(Collector& collect, const RecurrentSpec& spec, std::int64_t hidden) {
  constexpr auto kIn = ModuleFamily::kAttention;
  constexpr auto kSmall = ModuleFamily::kOther;
  const std::int64_t key = spec.key_heads * spec.key_dim;
  const std::int64_t value = spec.value_heads * spec.value_dim;
  const bool by_key = spec.rule == RecurrentRule::kKeyGatedDelta;
  collect.matrix("scan_q", kIn, key, hidden);
  collect.matrix("scan_k", kIn, key, hidden);
  collect.matrix("scan_v", kIn, value, hidden);
  if (spec.gate_rank > 0) {
    collect.matrix("gate_a", kIn, spec.gate_rank, hidden);
    collect.matrix("gate_b", kIn, value, spec.gate_rank);
  } else {
    collect.matrix("output_gate", kIn, value, hidden);
  }
  if (by_key) {
    collect.matrix("decay_a", kIn, spec.value_dim, hidden);
    collect.matrix("decay_b", kIn, spec.value_heads * spec.key_dim, spec.value_dim);
  } else {
    collect.matrix("decay", kSmall, spec.value_heads, hidden);
  }
  if (spec.rule != RecurrentRule::kStateSpace) collect.matrix("beta", kSmall, spec.value_heads, hidden);
  collect.table("conv", 2 * key + value, spec.conv_width);
  if (spec.conv_bias) collect.vector("conv_bias", kSmall, 2 * key + value);
  collect.vector("a_log", kSmall, spec.value_heads);
  collect.vector("dt_bias", kSmall, by_key ? spec.value_heads * spec.key_dim : spec.value_heads);
  const bool state_space = spec.rule == RecurrentRule::kStateSpace;
  if (state_space) collect.vector("skip", kSmall, spec.value_heads);
  collect.vector("scan_norm", kSmall, state_space ? value : spec.value_dim);
  collect.matrix("o", ModuleFamily::kAttentionOutput, hidden, value);
}

// One compressor makes an entry of `width` from `ratio` tokens; at ratio 4 neighbours overlap, which doubles it.
void add_compressor(Collector& collect, std::int64_t width, std::int64_t ratio, std::int64_t hidden) {
  const std::int64_t columns = width * (ratio == 4 ? 2 : 1);
  collect.matrix("compress_kv", ModuleFamily::kOther, columns, hidden);
  collect.matrix("compress_gate", ModuleFamily::kOther, columns, hidden);
  collect.table("compress_position", ratio, columns);
  collect.vector("compress_norm", ModuleFamily::kOther, width);
}

void add_compressed_attention(Collector& collect, const AttentionSpec& attention, std::int64_t hidden) {
  constexpr auto kIn = ModuleFamily::kAttention;
  const CompressedSpec& spec = attention.compressed;
  const std::int64_t q = attention.q_heads * attention.head_dim;
  collect.matrix("q_a", kIn, attention.q_latent, hidden);
  collect.vector("q_a_norm", ModuleFamily::kOther, attention.q_latent);
  collect.matrix("q_b", kIn, q, attention.q_latent);
  collect.matrix("kv", kIn, attention.head_dim, hidden);
  collect.vector("kv_norm", ModuleFamily::kOther, attention.head_dim);
  collect.vector("sinks", kIn, attention.q_heads);
  if (spec.ratio > 0) add_compressor(collect, attention.head_dim, spec.ratio, hidden);
  if (attention.index.heads > 0) {
    collect.matrix("index_q", kIn, attention.index.heads * attention.index.head_dim, attention.q_latent);
    collect.matrix("index_weights", ModuleFamily::kOther, attention.index.heads, hidden);
    add_compressor(collect, attention.index.head_dim, spec.ratio, hidden);
  }
  collect.matrix("o_a", ModuleFamily::kAttentionOutput, spec.output_groups * spec.output_rank, q / spec.output_groups);
  collect.matrix("o_b", ModuleFamily::kAttentionOutput, hidden, spec.output_groups * spec.output_rank);
}

// Mixing of the residual streams around both blocks of a layer: (2 + n) n mixing weights of n hidden columns.
void add_streams(Collector& collect, std::int64_t streams, std::int64_t hidden) {
  if (streams == 0) return;
  const std::int64_t rows = (2 + streams) * streams;
  collect.matrix("streams", ModuleFamily::kOther, 2 * rows, streams * hidden);
  collect.vector("streams_base", ModuleFamily::kOther, 2 * rows + 6);
}

void add_attention(Collector& collect, const AttentionSpec& attention, std::int64_t hidden) {
  switch (attention.kind) {
    case AttentionKind::kGrouped:
      add_grouped_attention(collect, attention, hidden);
      break;
    case AttentionKind::kLatent:
      add_latent_attention(collect, attention, hidden);
      break;
    case AttentionKind::kRecurrent:
      return add_recurrent(collect, attention.recurrent, hidden);
    case AttentionKind::kCompressed:
      return add_compressed_attention(collect, attention, hidden);
    case AttentionKind::kNone:
      return;
  }
  add_indexer(collect, attention, hidden);
  collect.matrix("o", ModuleFamily::kAttentionOutput, hidden, attention.q_heads * attention.v_head_dim);
  if (attention.output_bias) collect.vector("o_bias", ModuleFamily::kAttentionOutput, hidden);
}

struct Mlp {
  ModuleFamily family;
  std::int64_t intermediate;
  std::int64_t copies;
  bool gated;
  bool bias;
};

void add_mlp(Collector& collect, const Mlp& mlp, std::int64_t hidden) {
  if (mlp.gated) collect.matrix("gate", mlp.family, mlp.intermediate, hidden, mlp.copies);
  collect.matrix("up", mlp.family, mlp.intermediate, hidden, mlp.copies);
  if (mlp.bias && mlp.gated) collect.vector("gate_bias", mlp.family, mlp.intermediate, mlp.copies);
  if (mlp.bias) collect.vector("up_bias", mlp.family, mlp.intermediate, mlp.copies);
  collect.matrix("down", mlp.family, hidden, mlp.intermediate, mlp.copies);
  if (mlp.bias) collect.vector("down_bias", mlp.family, hidden, mlp.copies);
}

void add_ffn(Collector& collect, const FfnSpec& ffn, std::int64_t hidden) {
  if (ffn.kind == FfnKind::kNone) return;
  if (ffn.kind == FfnKind::kDense) {
    add_mlp(collect, {ModuleFamily::kDenseFfn, ffn.intermediate, 1, ffn.gated, ffn.bias}, hidden);
    return;
  }
  collect.matrix("router", ModuleFamily::kOther, ffn.experts, hidden);
  if (ffn.router_bias) collect.vector("router_bias", ModuleFamily::kOther, ffn.experts);
  if (ffn.shared_intermediate > 0) {
    add_mlp(collect, {ModuleFamily::kSharedExperts, ffn.shared_intermediate, 1, ffn.gated, false}, hidden);
    if (ffn.shared_gate) collect.vector("shared_gate", ModuleFamily::kSharedExperts, hidden);
  }
  const std::int64_t width = ffn.expert_hidden > 0 ? ffn.expert_hidden : hidden;
  if (ffn.expert_hidden > 0) {
    collect.matrix("latent_down", ModuleFamily::kOther, width, hidden);
    collect.matrix("latent_up", ModuleFamily::kOther, hidden, width);
    if (ffn.expert_norm) collect.vector("latent_norm", ModuleFamily::kOther, width);
  }
  add_mlp(collect, {ModuleFamily::kExperts, ffn.intermediate, ffn.experts, ffn.gated, ffn.bias}, width);
}

}  // namespace

std::int64_t WeightTensor::elements() const {
  return checked_multiply(checked_multiply(rows, columns, "a weight matrix"), copies, "the weights of a layer");
}

std::vector<WeightTensor> layer_weights(const LayerKind& kind, std::int64_t hidden) {
  Collector collect;
  const bool mixes = kind.attention.kind != AttentionKind::kNone;
  const bool feeds = kind.ffn.kind != FfnKind::kNone;
  if (mixes) collect.vector("attention_norm", ModuleFamily::kOther, hidden);
  add_attention(collect, kind.attention, hidden);
  if (mixes && kind.post_norms) collect.vector("attention_post_norm", ModuleFamily::kOther, hidden);
  if (feeds) collect.vector("ffn_norm", ModuleFamily::kOther, hidden);
  add_ffn(collect, kind.ffn, hidden);
  if (feeds && kind.post_norms) collect.vector("ffn_post_norm", ModuleFamily::kOther, hidden);
  if (kind.extra_vectors > 0) collect.vector("extra_vectors", ModuleFamily::kOther, kind.extra_vectors * hidden);
  add_streams(collect, kind.attention.compressed.streams, hidden);
  return collect.take();
}

std::vector<WeightTensor> outer_weights(const ModelSpec& model) {
  Collector collect;
  collect.matrix("embedding", ModuleFamily::kEmbedding, model.vocab, model.hidden);
  collect.vector("final_norm", ModuleFamily::kOther, model.hidden);
  if (!model.tied_embeddings) collect.matrix("head", ModuleFamily::kHead, model.vocab, model.hidden);
  return collect.take();
}

const NumberFormat& format_of(const WeightFormats& formats, const WeightTensor& tensor) {
  const NumberFormat* format = formats.other;
  if (tensor.quantisable) {
    switch (tensor.family) {
      case ModuleFamily::kEmbedding:
        format = formats.embedding;
        break;
      case ModuleFamily::kAttention:
        format = formats.attention;
        break;
      case ModuleFamily::kAttentionOutput:
        format = formats.attention_output;
        break;
      case ModuleFamily::kDenseFfn:
        format = formats.dense_ffn;
        break;
      case ModuleFamily::kSharedExperts:
        format = formats.shared_experts;
        break;
      case ModuleFamily::kExperts:
        format = formats.experts;
        break;
      case ModuleFamily::kHead:
        format = formats.head;
        break;
      case ModuleFamily::kOther:
        break;
    }
  }
  ensure(format != nullptr, "a weight has no number format");
  return *format;
}

Bytes bytes_of(const WeightTensor& tensor, const NumberFormat& format) {
  return Bytes(
      checked_multiply(format.bytes(tensor.rows, tensor.columns).value(), tensor.copies, "the weights of a layer"));
}

}  // namespace shardplan
