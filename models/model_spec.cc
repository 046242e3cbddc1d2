#include "models/model_spec.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "base/errors.h"
#include "models/weights.h"

namespace shardplan {
namespace {

constexpr const char* kTotal = "the number of parameters";

std::int64_t& counter_of(ParameterCount& count, ModuleFamily family) {
  switch (family) {
    case ModuleFamily::kEmbedding:
      return count.embedding;
    case ModuleFamily::kAttention:
    case ModuleFamily::kAttentionOutput:
      return count.attention;
    case ModuleFamily::kDenseFfn:
      return count.dense_ffn;
    case ModuleFamily::kSharedExperts:
      return count.shared_experts;
    case ModuleFamily::kExperts:
      return count.experts;
    case ModuleFamily::kHead:
      return count.head;
    case ModuleFamily::kOther:
      return count.other;
  }
  throw InternalError("unknown module family");
}

void add(ParameterCount& count, const WeightTensor& tensor, std::int64_t times) {
  std::int64_t& counter = counter_of(count, tensor.family);
  counter = checked_add(counter, checked_multiply(tensor.elements(), times, kTotal), kTotal);
}

Bytes total_bytes(const std::vector<WeightTensor>& tensors, const WeightFormats& formats) {
  std::int64_t total = 0;
  for (const WeightTensor& tensor : tensors) {
    total = checked_add(total, bytes_of(tensor, format_of(formats, tensor)).value(), "the weights of a layer");
  }
  return Bytes(total);
}

// `name`, or `name`_<n> for the n-th kind of that name.
std::string numbered_name(const ModelSpec& model, const std::string& name) {
  const auto is_namesake = [&](const LayerKind& kind) {
    const std::size_t end = name.size();
    if (!kind.name.starts_with(name)) return false;
    return kind.name.size() == end || (kind.name.size() > end + 1 && kind.name[end] == '_' &&
                                       std::isdigit(static_cast<unsigned char>(kind.name[end + 1])));
  };
  const auto namesakes = std::count_if(model.kinds.begin(), model.kinds.end(), is_namesake);
  return namesakes == 0 ? name : name + "_" + std::to_string(namesakes + 1);
}

double index_bytes(const AttentionSpec& attention) {
  if (attention.index.heads == 0 || attention.index.shared) return 0;
  return static_cast<double>(attention.index.head_dim) * index_cache_format().bytes_per_element();
}

double cache_bytes_of_layer(const AttentionSpec& attention, const NumberFormat& kv) {
  const auto stored = [](const NumberFormat& format, std::int64_t rows, std::int64_t columns) {
    return static_cast<double>((format.bytes(rows, columns) - Bytes(format.tensor_scale_bytes)).value());
  };
  switch (attention.kind) {
    case AttentionKind::kLatent:
      return stored(latent_cache_format(attention, kv), 1, attention.kv_latent + attention.rope_dim) +
             index_bytes(attention);
    case AttentionKind::kGrouped:
      return stored(kv, attention.kv_heads, attention.head_dim) + stored(kv, attention.kv_heads, attention.v_head_dim) +
             index_bytes(attention);
    case AttentionKind::kCompressed: {
      const auto ratio = static_cast<double>(attention.compressed.ratio);
      if (ratio == 0) return 0;  // its window is constant
      return (stored(compressed_cache_format(kv), 1, attention.head_dim) + index_bytes(attention)) / ratio;
    }
    case AttentionKind::kRecurrent:
    case AttentionKind::kNone:
      return 0;
  }
  throw InternalError("unknown kind of attention");
}

std::int64_t state_bytes_of(const RecurrentSpec& spec) {
  constexpr const char* kWhat = "the state of a request";
  const std::int64_t cells =
      checked_multiply(checked_multiply(spec.value_heads, spec.key_dim, kWhat), spec.value_dim, kWhat);
  const std::int64_t channels = 2 * spec.key_heads * spec.key_dim + spec.value_heads * spec.value_dim;
  return checked_add(checked_multiply(cells, spec.state_bits / 8, kWhat),
                     checked_multiply(channels, (spec.conv_width - 1) * 2, kWhat), kWhat);
}

// Keys and gates of every token that an unfinished entry reads.
std::int64_t compressor_bytes_of(const AttentionSpec& attention) {
  const std::int64_t ratio = attention.compressed.ratio;
  if (ratio == 0) return 0;
  const std::int64_t overlap = ratio == 4 ? 2 : 1;
  const std::int64_t width = attention.head_dim + (attention.index.heads > 0 ? attention.index.head_dim : 0);
  constexpr const char* kWhat = "the state of a request";
  return checked_multiply(checked_multiply(overlap * overlap * 8, ratio, kWhat), width, kWhat);
}

// Multiply-adds beside the products with weights, of one token.
double mixing_flops(const AttentionSpec& a, double context) {
  if (a.kind == AttentionKind::kNone) return 0;
  if (a.kind == AttentionKind::kRecurrent) return recurrent_flops_per_token(a.recurrent);
  const double indexed = 2 * static_cast<double>(a.index.heads * a.index.head_dim);
  double seen = a.window > 0 ? std::min(context, static_cast<double>(a.window)) : context;
  double scored = a.index.shared ? 0 : context;
  double width = 2 * static_cast<double>(a.head_dim + a.v_head_dim);
  if (a.kind == AttentionKind::kLatent) width = 2 * static_cast<double>(2 * a.kv_latent + a.rope_dim);
  if (a.kind == AttentionKind::kCompressed) {
    const double entries = a.compressed.ratio > 0 ? context / static_cast<double>(a.compressed.ratio) : 0;
    seen += a.index.heads > 0 ? std::min(entries, static_cast<double>(a.index.top_k)) : entries;
    scored = entries;
  } else if (a.index.heads > 0) {
    seen = std::min(seen, static_cast<double>(a.index.top_k));
  }
  return width * static_cast<double>(a.q_heads) * seen + indexed * scored;
}

std::vector<WeightTensor> mtp_module_weights(const ModelSpec& model) {
  // Projection of [embedding, hidden] to hidden, norms of both, norm before the shared head.
  return {{.name = "eh_proj", .family = ModuleFamily::kOther, .rows = model.hidden, .columns = 2 * model.hidden},
          {.name = "mtp_norms", .family = ModuleFamily::kOther, .rows = 3 * model.hidden}};
}

}  // namespace

std::int64_t ParameterCount::total() const {
  std::int64_t sum = 0;
  for (const std::int64_t part : {embedding, attention, dense_ffn, shared_experts, experts, other, head}) {
    sum = checked_add(sum, part, kTotal);
  }
  return sum;
}

std::int64_t ModelSpec::layers_of_kind(int kind) const { return std::count(layers.begin(), layers.end(), kind); }

bool ModelSpec::is_moe() const {
  return std::any_of(kinds.begin(), kinds.end(), [](const LayerKind& kind) { return kind.ffn.kind == FfnKind::kMoe; });
}

bool ModelSpec::has_window() const {
  return std::any_of(kinds.begin(), kinds.end(), [](const LayerKind& kind) { return kind.attention.window > 0; });
}

std::int64_t ModelSpec::max_experts() const {
  std::int64_t most = 0;
  for (const LayerKind& kind : kinds) most = std::max(most, kind.ffn.experts);
  return most;
}

ParameterCount count_parameters(const ModelSpec& model) {
  ParameterCount count;
  for (const WeightTensor& tensor : outer_weights(model)) add(count, tensor, 1);
  for (std::size_t kind = 0; kind < model.kinds.size(); ++kind) {
    const std::int64_t layers = model.layers_of_kind(static_cast<int>(kind));
    for (const WeightTensor& tensor : layer_weights(model.kinds[kind], model.hidden)) add(count, tensor, layers);
  }
  return count;
}

std::int64_t count_active_parameters(const ModelSpec& model) {
  ParameterCount count;
  for (const WeightTensor& tensor : outer_weights(model)) add(count, tensor, 1);
  for (std::size_t kind = 0; kind < model.kinds.size(); ++kind) {
    const std::int64_t layers = model.layers_of_kind(static_cast<int>(kind));
    for (WeightTensor tensor : layer_weights(model.kinds[kind], model.hidden)) {
      if (tensor.family == ModuleFamily::kExperts) tensor.copies = model.kinds[kind].ffn.experts_per_token;
      add(count, tensor, layers);
    }
  }
  return count.total();
}

Bytes weight_bytes(const ModelSpec& model) {
  Bytes total = total_bytes(outer_weights(model), model.formats);
  for (std::size_t kind = 0; kind < model.kinds.size(); ++kind) {
    const LayerKind& layer = model.kinds[kind];
    const Bytes one = total_bytes(layer_weights(layer, model.hidden), layer.formats);
    const std::int64_t all = checked_multiply(one.value(), model.layers_of_kind(static_cast<int>(kind)), "the weights");
    total = Bytes(checked_add(total.value(), all, "the weights"));
  }
  return total;
}

const AttentionSpec& ModelSpec::main_attention() const {
  const auto it = std::find_if(kinds.begin(), kinds.end(), [](const LayerKind& kind) {
    return kind.attention.kind != AttentionKind::kNone && kind.attention.kind != AttentionKind::kRecurrent;
  });
  ensure(!kinds.empty(), "a model has at least one kind of layer");
  return it == kinds.end() ? kinds.front().attention : it->attention;
}

const NumberFormat& latent_cache_format(const AttentionSpec& attention, const NumberFormat& kv) {
  const bool sparse = attention.index.heads > 0;
  return sparse && kv.bits == 8 ? *find_format("fp8_ds_mla") : kv;
}

const NumberFormat& compressed_cache_format(const NumberFormat& kv) { return kv.bits == 8 ? *find_format("fp8_ds_v4") : kv; }

const NumberFormat& index_cache_format() { return *find_format("fp8_index"); }

double recurrent_flops_per_token(const RecurrentSpec& spec) {
  const auto cells = static_cast<double>(spec.value_heads * spec.key_dim * spec.value_dim);
  const auto channels = static_cast<double>(2 * spec.key_heads * spec.key_dim + spec.value_heads * spec.value_dim);
  const double products = spec.rule == RecurrentRule::kStateSpace ? 2 : 3;  // write and read; read again for the delta
  return (1 + 2 * products) * cells + 2 * static_cast<double>(spec.conv_width) * channels;
}

Bytes state_bytes_per_request(const ModelSpec& model) {
  std::int64_t total = 0;
  for (const int kind : model.layers) {
    const AttentionSpec& attention = model.kinds[static_cast<std::size_t>(kind)].attention;
    if (attention.kind == AttentionKind::kRecurrent)
      total = checked_add(total, state_bytes_of(attention.recurrent), "the state of a request");
    if (attention.kind == AttentionKind::kCompressed)
      total = checked_add(total, compressor_bytes_of(attention), "the state of a request");
  }
  return Bytes(total);
}

double flops_per_token(const ModelSpec& model, double context) {
  double flops =
      2 * static_cast<double>(model.vocab) * static_cast<double>(model.hidden);  // the head; the embedding is a look-up
  for (std::size_t k = 0; k < model.kinds.size(); ++k) {
    const LayerKind& kind = model.kinds[k];
    double layer = mixing_flops(kind.attention, context);
    for (WeightTensor tensor : layer_weights(kind, model.hidden)) {
      if (!tensor.multiplies) continue;
      if (tensor.family == ModuleFamily::kExperts) tensor.copies = kind.ffn.experts_per_token;
      layer += 2 * static_cast<double>(tensor.elements());
    }
    flops += layer * static_cast<double>(model.layers_of_kind(static_cast<int>(k)));
  }
  return flops;
}

std::int64_t count_mtp_parameters(const ModelSpec& model) {
  ParameterCount count;
  for (const WeightTensor& tensor : mtp_module_weights(model)) add(count, tensor, model.mtp_modules);
  for (const LayerKind& kind : model.mtp_layers) {
    for (const WeightTensor& tensor : layer_weights(kind, model.hidden)) add(count, tensor, 1);
  }
  return count.total();
}

Bytes mtp_weight_bytes(const ModelSpec& model) {
  std::int64_t total = 0;
  for (const LayerKind& kind : model.mtp_layers) {
    total = checked_add(total, total_bytes(layer_weights(kind, model.hidden), kind.formats).value(), "the MTP layers");
  }
  if (model.mtp_modules == 0) return Bytes(total);
  const Bytes module = total_bytes(mtp_module_weights(model), model.formats);
  return Bytes(
      checked_add(total, checked_multiply(module.value(), model.mtp_modules, "the MTP layers"), "the MTP layers"));
}

Bytes mtp_cache_bytes_per_token(const ModelSpec& model, const NumberFormat& kv) {
  double total = 0;
  for (const LayerKind& kind : model.mtp_layers) total += cache_bytes_of_layer(kind.attention, kv);
  return Bytes(static_cast<std::int64_t>(total));
}

std::int64_t cache_elements_per_token(const AttentionSpec& attention) {
  if (attention.kind == AttentionKind::kRecurrent || attention.kind == AttentionKind::kNone) return 0;
  if (attention.kind == AttentionKind::kCompressed) {
    return attention.compressed.ratio == 0 ? 0 : attention.head_dim / attention.compressed.ratio;
  }
  if (attention.kind == AttentionKind::kLatent) return attention.kv_latent + attention.rope_dim;
  return attention.kv_heads * (attention.head_dim + attention.v_head_dim);
}

Bytes cache_bytes_per_token(const ModelSpec& model, const NumberFormat& kv) {
  double total = 0;
  for (const int kind : model.layers)
    total += cache_bytes_of_layer(model.kinds[static_cast<std::size_t>(kind)].attention, kv);
  return Bytes(static_cast<std::int64_t>(total));
}

bool same_layer(const LayerKind& a, const LayerKind& b) {
  return a.attention == b.attention && a.ffn == b.ffn && a.formats == b.formats && a.post_norms == b.post_norms &&
         a.extra_vectors == b.extra_vectors;
}

void append_layer(ModelSpec& model, const LayerKind& kind) {
  const auto it = std::find_if(model.kinds.begin(), model.kinds.end(),
                               [&](const LayerKind& known) { return same_layer(known, kind); });
  model.layers.push_back(static_cast<int>(it - model.kinds.begin()));
  if (it != model.kinds.end()) return;
  LayerKind added = kind;
  added.name = numbered_name(model, kind.name);
  model.kinds.push_back(std::move(added));
}

void override_weight_format(ModelSpec& model, const NumberFormat& format) {
  model.requested_format = format.name;
  const std::vector<LayerKind> kinds = std::move(model.kinds);
  const std::vector<int> layers = std::move(model.layers);
  model.kinds.clear();
  model.layers.clear();
  const auto replace_in = [&format](WeightFormats& formats) {
    formats.attention = formats.attention_output = formats.dense_ffn = &format;
    formats.shared_experts = formats.experts = &format;
  };
  for (const int index : layers) {
    LayerKind kind = kinds[static_cast<std::size_t>(index)];
    replace_in(kind.formats);
    append_layer(model, kind);
  }
  for (LayerKind& kind : model.mtp_layers) replace_in(kind.formats);
}

}  // namespace shardplan
