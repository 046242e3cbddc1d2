#include "calibrate/reference/plain_layer.h"

#include "calibrate/reference/plain_feed_forward.h"
#include "calibrate/reference/plain_recurrent.h"
#include "calibrate/token_id.h"

namespace shardplan {
namespace {

PlainRows inputs(const PlainLayer& layer, const RaggedBatch& batch, std::int64_t hidden) {
  PlainRows rows;
  for (const RequestSlice& slice : batch.requests) {
    for (std::int64_t i = 0; i < slice.new_tokens; ++i) {
      const std::int64_t id = token_id(slice.request, slice.prefix + i);
      rows[id] = layer.row("x", Part::kResidual, {id}, hidden);
    }
  }
  return rows;
}

PlainRows normed(const PlainRows& rows, const PlainWeight& weight) {
  PlainRows result;
  for (const auto& [token, row] : rows) result[token] = plain_norm(row, weight);
  return result;
}

void add_rows(PlainRows& to, const PlainRows& rows) {
  for (auto& [token, row] : to) {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] += rows.at(token)[i];
  }
}

// Norms inside the mixer, which come right after that of its input.
std::int64_t norms_of(const AttentionSpec& attention) {
  const std::int64_t index = attention.index.heads > 0 ? 1 : 0;
  if (attention.kind == AttentionKind::kLatent) return index + (attention.q_latent > 0 ? 2 : 1);
  return attention.kind == AttentionKind::kRecurrent ? 1 : index;
}

PlainRows mixed(const PlainLayer& layer, const PlainLayerRequest& request, const PlainRows& in) {
  const AttentionSpec& attention = request.kind.attention;
  if (attention.kind == AttentionKind::kRecurrent) return plain_recurrent(layer, attention.recurrent, request.batch, in);
  if (attention.kind == AttentionKind::kLatent) return plain_latent_attention(layer, attention, request.batch, in, request.latent_form);
  return plain_grouped_attention(layer, attention, request.batch, in);
}

// Adds the branch to x, normalised by the `norm`-th norm where the layer does so.
void add_branch(const PlainLayer& layer, const LayerKind& kind, PlainRows& x, const PlainRows& branch, std::int64_t& norm) {
  if (!kind.post_norms) return add_rows(x, branch);
  add_rows(x, normed(branch, layer.weight("w_norm", Part::kNorm, 0, norm++)));
}

}  // namespace

PlainRows plain_layer(const PlainLayerRequest& request) {
  const TensorSource source(request.seed);
  const PlainLayer layer{source, 0};
  const LayerKind& kind = request.kind;
  PlainRows x = inputs(layer, request.batch, request.model.hidden);
  std::int64_t norm = 0;
  if (kind.attention.kind != AttentionKind::kNone) {
    const PlainRows in = normed(x, layer.weight("w_norm", Part::kNorm, 0, norm));
    norm += 1 + norms_of(kind.attention);
    add_branch(layer, kind, x, mixed(layer, request, in), norm);
  }
  if (kind.ffn.kind != FfnKind::kNone) {
    PlainRows branch = normed(x, layer.weight("w_norm", Part::kNorm, 0, norm++));
    for (auto& [token, row] : branch) row = plain_feed_forward(layer, kind.ffn, row, norm);
    norm += kind.ffn.expert_norm ? 1 : 0;
    add_branch(layer, kind, x, branch, norm);
  }
  return x;
}

}  // namespace shardplan
