#include "calibrate/reference/plain_layer.h"

#include <utility>

#include "calibrate/reference/plain_compressed.h"
#include "calibrate/reference/plain_feed_forward.h"
#include "calibrate/reference/plain_recurrent.h"
#include "calibrate/token_id.h"

namespace shardplan {
namespace {

// The streams of a token one after the other where there are several.
PlainRows inputs(const PlainLayer& layer, const RaggedBatch& batch, std::int64_t hidden, std::int64_t streams) {
  PlainRows rows;
  for (const RequestSlice& slice : batch.requests) {
    for (std::int64_t i = 0; i < slice.new_tokens; ++i) {
      const std::int64_t id = token_id(slice.request, slice.prefix + i);
      if (streams == 0) rows[id] = layer.row("x", Part::kResidual, {id}, hidden);
      for (std::int64_t s = 0; s < streams; ++s) {
        const Vector stream = layer.row("x", Part::kResidual, {id, s}, hidden);
        rows[id].insert(rows[id].end(), stream.begin(), stream.end());
      }
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
  const std::int64_t index = attention.index.heads > 0 && !attention.index.shared ? 1 : 0;
  if (attention.kind == AttentionKind::kLatent) return index + (attention.q_latent > 0 ? 2 : 1);
  if (attention.kind == AttentionKind::kRecurrent) return 1;
  if (attention.kind == AttentionKind::kCompressed) return 2 + (attention.compressed.ratio > 0 ? 1 : 0) + index;
  return index + (attention.qk_norm && !attention.qk_norm_whole ? 2 : 0);
}

PlainRows mixed(const PlainLayer& layer, const PlainLayerRequest& request, const PlainRows& in) {
  const AttentionSpec& attention = request.kind.attention;
  if (attention.kind == AttentionKind::kRecurrent) return plain_recurrent(layer, attention.recurrent, request.batch, in);
  if (attention.kind == AttentionKind::kCompressed) return plain_compressed_attention(layer, attention, request.batch, in);
  if (attention.kind == AttentionKind::kLatent) return plain_latent_attention(layer, attention, request.batch, in, request.latent_form);
  return plain_grouped_attention(layer, attention, request.batch, in);
}

// The branch, normalised by the `norm`-th norm where the layer does so.
PlainRows finished(const PlainLayer& layer, const LayerKind& kind, PlainRows branch, std::int64_t& norm) {
  return kind.post_norms ? normed(branch, layer.weight("w_norm", Part::kNorm, 0, norm++)) : branch;
}

PlainRows feed_forward(const PlainLayer& layer, const LayerKind& kind, const PlainRows& x, std::int64_t& norm, std::int64_t capacity) {
  PlainRows branch = normed(x, layer.weight("w_norm", Part::kNorm, 0, norm++));
  PlainRoom room{.capacity = capacity, .taken = {}};
  for (auto& [token, row] : branch) row = plain_feed_forward(layer, kind.ffn, row, norm, room);   // in the order of tokens
  norm += kind.ffn.expert_norm ? 1 : 0;
  return finished(layer, kind, std::move(branch), norm);
}

}  // namespace

PlainRows plain_layer(const PlainLayerRequest& request) {
  const TensorSource source(request.seed);
  const PlainLayer layer{source, 0};
  const LayerKind& kind = request.kind;
  const std::int64_t streams = kind.attention.compressed.streams;
  PlainRows x = inputs(layer, request.batch, request.model.hidden, streams);
  std::int64_t norm = 0;
  std::int64_t site = 0;
  const auto add_branch = [&](const auto& branch_of) {
    if (streams == 0) return add_rows(x, branch_of(x));
    const PlainStreams mixing(layer, streams, site++, x);
    x = mixing.written(branch_of(mixing.read()));
  };
  if (kind.attention.kind != AttentionKind::kNone) {
    add_branch([&](const PlainRows& in) {
      const PlainRows first = normed(in, layer.weight("w_norm", Part::kNorm, 0, norm));
      norm += 1 + norms_of(kind.attention);
      return finished(layer, kind, mixed(layer, request, first), norm);
    });
  }
  if (kind.ffn.kind != FfnKind::kNone) {
    add_branch([&](const PlainRows& in) { return feed_forward(layer, kind, in, norm, request.expert_capacity); });
  }
  return x;
}

}  // namespace shardplan
