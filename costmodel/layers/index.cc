#include "costmodel/layers/index.h"

namespace shardplan {
namespace {

TensorId selection(LayerBuilder& build, const IndexSpec& spec, Phase phase) {
  return build.activation("selection", Part::kAttention, {{Dim::kSelected, spec.top_k}}, phase, &position_format());
}

IndexOp shape_of(const IndexSpec& spec, std::int64_t every, Phase phase) {
  return {.phase = phase,
          .heads = spec.heads,
          .dim = spec.head_dim,
          .top_k = spec.top_k,
          .block = spec.block,
          .weighted = spec.weighted,
          .every = every};
}

// (q[, weights]) of one phase.
IdList queries(LayerBuilder& build, const Indexer& indexer, Phase phase) {
  const bool decode = phase == Phase::kDecode;
  IdList ids{build.split(decode ? "index_q_decode" : "index_q_prefill", indexer.q, phase)};
  if (indexer.weights >= 0)
    ids.push_back(build.split(decode ? "index_weights_decode" : "index_weights_prefill", indexer.weights, phase));
  return ids;
}

TensorId index_cache(LayerBuilder& build, const IndexSpec& spec, std::int64_t every, Phase phase) {
  const TensorId id = build.cache("cache_index", {{Dim::kHeadDim, spec.head_dim}}, phase, &index_cache_format());
  Tensor& cache = build.graph.tensors[static_cast<std::size_t>(id)];
  cache.every = cache.stripe = every;
  return id;
}

TensorId choose(LayerBuilder& build, const char* name, const IdList& inputs, const IndexSpec& spec, std::int64_t every,
                Phase phase) {
  const TensorId chosen = selection(build, spec, phase);
  LogicalOp op{.kind = OpKind::kIndex, .name = name, .inputs = inputs, .weights = {}, .outputs = {chosen}};
  op.index = shape_of(spec, every, phase);
  build.graph.op(std::move(op));
  return chosen;
}

}  // namespace

Indexer build_indexer(LayerBuilder& build, TensorId x, TensorId q_in, const LayerKind& kind, std::int64_t rotary) {
  const IndexSpec& spec = kind.attention.index;
  const DimExtent hidden{Dim::kHidden, build.model().hidden};
  const DimExtent heads{Dim::kIndexHeads, spec.heads};
  const DimExtent width{Dim::kHeadDim, spec.head_dim};
  const DimExtent q_dim = build.graph.tensor(q_in).dims.back();
  IdList weights{build.weight("w_index_k", Part::kAttention, {width}, {hidden}, kind.formats.attention)};
  NameList names{"index_k_raw"};
  if (spec.weighted) {
    weights.push_back(build.weight("w_index_weights", Part::kAttention, {heads}, {hidden}, kind.formats.other));
    names.push_back("index_weights");
  }
  const IdList of_x = build.matmul("index_k", x, weights, names, Part::kAttention);
  const TensorId w_q = build.weight("w_index_q", Part::kAttention, {heads, width}, {q_dim}, kind.formats.attention);
  const TensorId q = build.matmul("index_q", q_in, {w_q}, {"index_q_raw"}, Part::kAttention)[0];
  const TensorId k = build.norm("index_k_normed", of_x[0]);
  Indexer indexer;
  indexer.q = build.rotary_pair(q, k, "index_q", "index_k", rotary, indexer.k);
  if (spec.weighted) indexer.weights = of_x[1];
  return indexer;
}

TensorId select_decode(LayerBuilder& build, const Indexer& indexer, const IndexSpec& spec) {
  const TensorId cache = index_cache(build, spec, indexer.every, Phase::kDecode);
  const TensorId fresh = build.split("index_k_decode", indexer.k, Phase::kDecode);
  build.graph.tensors[static_cast<std::size_t>(fresh)].stripe = indexer.every;
  build.append({fresh}, {cache});
  IdList inputs = queries(build, indexer, Phase::kDecode);
  inputs.push_back(cache);
  return choose(build, "index_decode", inputs, spec, indexer.every, Phase::kDecode);
}

TensorId select_prefill(LayerBuilder& build, const Indexer& indexer, const IndexSpec& spec) {
  const TensorId cache = index_cache(build, spec, indexer.every, Phase::kPrefill);
  const TensorId fresh = build.split("index_k_prefill", indexer.k, Phase::kPrefill);
  build.graph.tensors[static_cast<std::size_t>(fresh)].stripe = indexer.every;
  IdList inputs = queries(build, indexer, Phase::kPrefill);
  inputs.push_back(fresh);
  inputs.push_back(build.prefix("prefix_index", cache));
  const TensorId chosen = choose(build, "index_prefill", inputs, spec, indexer.every, Phase::kPrefill);
  build.append({fresh}, {cache});
  return chosen;
}

}  // namespace shardplan
