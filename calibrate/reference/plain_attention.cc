#include "calibrate/reference/plain_attention.h"

#include <algorithm>
#include <cmath>

#include "calibrate/reference/plain_index.h"
#include "calibrate/token_id.h"

namespace shardplan {
namespace {

// softmax(scores) weighted sum of values; a sink takes its share and gives nothing.
Vector weighted(const Vector& scores, const std::vector<Vector>& values, bool sink, double sink_score) {
  double most = sink ? sink_score : -1e300;
  for (const double s : scores) most = std::max(most, s);
  double total = sink ? std::exp(sink_score - most) : 0.0;
  Vector out(values.front().size(), 0.0);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double weight = std::exp(scores[j] - most);
    total += weight;
    for (std::size_t c = 0; c < out.size(); ++c) out[c] += weight * values[j][c];
  }
  for (double& v : out) v /= total;
  return out;
}

double sink_of(const PlainLayer& layer, const AttentionSpec& spec, std::int64_t head) {
  return spec.sinks ? layer.weight("w_sinks", Part::kAttention, 0).at({head}) : 0.0;
}

// x + bias of head `head`, where the projection has one.
Vector biased(const PlainLayer& layer, const char* name, bool has_bias, std::int64_t head, Vector x) {
  if (!has_bias) return x;
  const PlainWeight bias = layer.weight(name, Part::kAttention, 1);
  for (std::size_t c = 0; c < x.size(); ++c) x[c] += bias.at({head, static_cast<std::int64_t>(c)});
  return x;
}

// x + bias of a projection without heads.
Vector biased(const PlainLayer& layer, const char* name, bool has_bias, Vector x) {
  if (!has_bias) return x;
  const PlainWeight bias = layer.weight(name, Part::kAttention, 0);
  for (std::size_t c = 0; c < x.size(); ++c) x[c] += bias.at({static_cast<std::int64_t>(c)});
  return x;
}

// y += W_O o over all heads.
Vector project_out(const PlainLayer& layer, const AttentionSpec& spec, std::int64_t hidden, const std::vector<Vector>& heads) {
  const PlainWeight w_o = layer.weight("w_o", Part::kAttention, spec.q_heads * spec.v_head_dim);
  Vector y(static_cast<std::size_t>(hidden), 0.0);
  for (std::int64_t i = 0; i < hidden; ++i) {
    for (std::int64_t h = 0; h < spec.q_heads; ++h) {
      for (std::int64_t c = 0; c < spec.v_head_dim; ++c) y[i] += w_o.at({i, h, c}) * heads[h][c];
    }
  }
  return biased(layer, "b_o", spec.output_bias, y);
}

std::int64_t columns(const PlainRows& x) { return static_cast<std::int64_t>(x.begin()->second.size()); }

// Sigmoid of the gate's projection times each head's output.
void gate_heads(const PlainLayer& layer, const AttentionSpec& spec, const Vector& x, std::vector<Vector>& heads) {
  if (!spec.output_gate) return;
  const PlainWeight w = layer.weight("w_output_gate", Part::kAttention, static_cast<std::int64_t>(x.size()));
  for (std::int64_t h = 0; h < spec.q_heads; ++h) {
    const Vector gate = w.times({h}, spec.v_head_dim, x);
    for (std::size_t c = 0; c < gate.size(); ++c) heads[h][c] /= 1.0 + std::exp(-gate[c]);
  }
}

}  // namespace

namespace {

// Q, K and V of one token by head: product, bias, norm, rotation.
class GroupedProjections {
 public:
  GroupedProjections(const PlainLayer& layer, const AttentionSpec& spec, const PlainRows& x)
      : layer_(layer), spec_(spec), x_(x), w_q_(layer.weight("w_q", Part::kAttention, columns(x))),
        w_k_(layer.weight("w_k", Part::kAttention, columns(x))),
        w_v_(layer.weight(spec.value_is_key ? "w_k" : "w_v", Part::kAttention, columns(x))) {}

  [[nodiscard]] Vector q(std::int64_t token, std::int64_t head) const {
    return finished(w_q_, "b_q", "w_q_norm", 1, spec_.q_heads, token, head);
  }
  [[nodiscard]] Vector k(std::int64_t token, std::int64_t head) const {
    return finished(w_k_, "b_k", "w_k_norm", 2, spec_.kv_heads, token, head);
  }
  [[nodiscard]] Vector v(std::int64_t token, std::int64_t head) const {
    return biased(layer_, spec_.value_is_key ? "b_k" : "b_v", spec_.qkv_bias, head, w_v_.times({head}, spec_.v_head_dim, x_.at(token)));
  }

 private:
  [[nodiscard]] Vector raw(const PlainWeight& w, const char* bias, std::int64_t token, std::int64_t head) const {
    return biased(layer_, bias, spec_.qkv_bias, head, w.times({head}, spec_.head_dim, x_.at(token)));
  }

  [[nodiscard]] Vector finished(const PlainWeight& w, const char* bias, const char* whole_norm, std::int64_t norm, std::int64_t heads,
                                std::int64_t token, std::int64_t head) const {
    Vector row = raw(w, bias, token, head);
    if (spec_.qk_norm_whole) {
      double squares = 0.0;
      for (std::int64_t h = 0; h < heads; ++h) {
        for (const double value : raw(w, bias, token, h)) squares += value * value;
      }
      const double root = std::sqrt(squares / static_cast<double>(heads * spec_.head_dim) + 1e-6);
      const PlainWeight weight = layer_.weight(whole_norm, Part::kAttention, 1);
      for (std::size_t c = 0; c < row.size(); ++c) row[c] *= weight.at({head, static_cast<std::int64_t>(c)}) / root;
    } else if (spec_.qk_norm) {
      row = plain_norm(row, layer_.weight("w_norm", Part::kNorm, 0, norm));
    }
    return plain_rotary(row, spec_.rotary ? spec_.head_dim : 0, position_of(token));
  }

  const PlainLayer& layer_;
  const AttentionSpec& spec_;
  const PlainRows& x_;
  PlainWeight w_q_;
  PlainWeight w_k_;
  PlainWeight w_v_;
};

}  // namespace

PlainRows plain_grouped_attention(const PlainLayer& layer, const AttentionSpec& spec, const RaggedBatch& batch, const PlainRows& x) {
  const GroupedProjections of(layer, spec, x);
  const PlainIndexer indexer{layer, spec, batch, x, spec.index.head_dim, spec.qk_norm && !spec.qk_norm_whole ? 3 : 1};
  PlainRows result;
  for (const auto& [token, row] : x) {
    const std::int64_t request = request_of(token);
    const std::vector<std::int64_t> visible = visible_positions(indexer, token, row);
    std::vector<Vector> heads;
    for (std::int64_t h = 0; h < spec.q_heads; ++h) {
      const std::int64_t kv = h * spec.kv_heads / spec.q_heads;
      const Vector q = of.q(token, h);
      Vector scores;
      std::vector<Vector> values;
      for (const std::int64_t j : visible) {
        const std::int64_t id = token_id(request, j);
        const bool fresh = j >= slice_of(batch, token).prefix;
        const Vector k = fresh ? of.k(id, kv) : layer.row("cache_k", Part::kAttention, {id, kv}, spec.head_dim);
        values.push_back(fresh ? of.v(id, kv) : layer.row("cache_v", Part::kAttention, {id, kv}, spec.v_head_dim));
        scores.push_back(plain_dot(q, k) / std::sqrt(static_cast<double>(spec.head_dim)));
      }
      heads.push_back(weighted(scores, values, spec.sinks, sink_of(layer, spec, h)));
    }
    gate_heads(layer, spec, row, heads);
    result[token] = project_out(layer, spec, columns(x), heads);
  }
  return result;
}

namespace {

// Queries and latents of MLA, and the two ways to attend with them.
class LatentAttention {
 public:
  LatentAttention(const PlainLayer& layer, const AttentionSpec& spec, const RaggedBatch& batch, const PlainRows& x)
      : layer_(layer), spec_(spec), batch_(batch), x_(x), hidden_(columns(x)),
        w_uk_(layer.weight("w_uk", Part::kAttention, spec.kv_latent)), w_uv_(layer.weight("w_uv", Part::kAttention, spec.kv_latent)) {}

  // [latent, rotated rope part] of a cached or fresh position.
  [[nodiscard]] Vector latent(std::int64_t id, std::int64_t prefix) const {
    const std::int64_t width = spec_.kv_latent + spec_.rope_dim;
    if (position_of(id) < prefix) return layer_.row("cache_latent", Part::kAttention, {id}, width);
    const Vector raw = biased(layer_, "b_kv_a", spec_.qkv_bias, layer_.weight("w_kv_a", Part::kAttention, hidden_).times({}, width, x_.at(id)));
    Vector normed = plain_norm({raw.begin(), raw.begin() + spec_.kv_latent}, layer_.weight("w_norm", Part::kNorm, 0, 1));
    normed.insert(normed.end(), raw.begin() + spec_.kv_latent, raw.end());
    return plain_rotary(normed, turned(), position_of(id));
  }

  // The normed query latent, or x.
  [[nodiscard]] Vector query_input(std::int64_t token) const {
    if (spec_.q_latent == 0) return x_.at(token);
    const Vector down = biased(layer_, "b_q_a", spec_.qkv_bias,
                               layer_.weight("w_q_a", Part::kAttention, hidden_).times({}, spec_.q_latent, x_.at(token)));
    return plain_norm(down, layer_.weight("w_norm", Part::kNorm, 0, 2));
  }

  [[nodiscard]] Vector query(std::int64_t token, std::int64_t head) const {
    const bool narrow = spec_.q_latent > 0;
    const Vector q = layer_.weight(narrow ? "w_q_b" : "w_q", Part::kAttention, narrow ? spec_.q_latent : hidden_).times({head}, spec_.head_dim, query_input(token));
    return plain_rotary(q, turned(), position_of(token));
  }

  [[nodiscard]] std::vector<Vector> latents(std::int64_t token) const {
    std::vector<Vector> rows;
    const std::int64_t prefix = slice_of(batch_, token).prefix;
    const PlainIndexer indexer{layer_, spec_, batch_, x_, std::min(spec_.rope_dim, spec_.index.head_dim), spec_.q_latent > 0 ? 3 : 2};
    for (const std::int64_t j : visible_positions(indexer, token, query_input(token))) {
      rows.push_back(latent(token_id(request_of(token), j), prefix));
    }
    return rows;
  }

  // K = [W_UK c, rope], V = W_UV c.
  [[nodiscard]] Vector expanded(const Vector& q, std::int64_t head, const std::vector<Vector>& rows) const {
    Vector scores;
    std::vector<Vector> values;
    for (const Vector& row : rows) {
      const Vector c(row.begin(), row.begin() + spec_.kv_latent);
      Vector k = w_uk_.times({head}, spec_.nope_dim, c);
      k.insert(k.end(), row.begin() + spec_.kv_latent, row.end());
      scores.push_back(plain_dot(q, k) * scale());
      values.push_back(w_uv_.times({head}, spec_.v_head_dim, c));
    }
    return weighted(scores, values, spec_.sinks, sink_of(layer_, spec_, head));
  }

  // q' = [W_UK^T q_nope, q_rope] against the latents; W_UV after.
  [[nodiscard]] Vector absorbed(const Vector& q, std::int64_t head, const std::vector<Vector>& rows) const {
    Vector folded(static_cast<std::size_t>(spec_.kv_latent), 0.0);
    for (std::int64_t d = 0; d < spec_.nope_dim; ++d) {
      for (std::int64_t c = 0; c < spec_.kv_latent; ++c) folded[c] += w_uk_.at({head, d, c}) * q[d];
    }
    folded.insert(folded.end(), q.begin() + spec_.nope_dim, q.end());
    Vector scores;
    std::vector<Vector> values;
    for (const Vector& row : rows) {
      scores.push_back(plain_dot(folded, row) * scale());
      values.emplace_back(row.begin(), row.begin() + spec_.kv_latent);
    }
    return w_uv_.times({head}, spec_.v_head_dim, weighted(scores, values, spec_.sinks, sink_of(layer_, spec_, head)));
  }

 private:
  [[nodiscard]] std::int64_t turned() const { return spec_.rotary ? spec_.rope_dim : 0; }
  [[nodiscard]] double scale() const { return 1.0 / std::sqrt(static_cast<double>(spec_.nope_dim + spec_.rope_dim)); }

  const PlainLayer& layer_;
  const AttentionSpec& spec_;
  const RaggedBatch& batch_;
  const PlainRows& x_;
  std::int64_t hidden_;
  PlainWeight w_uk_;
  PlainWeight w_uv_;
};

}  // namespace

PlainRows plain_latent_attention(const PlainLayer& layer, const AttentionSpec& spec, const RaggedBatch& batch, const PlainRows& x,
                                 LatentForm form) {
  const LatentAttention attention(layer, spec, batch, x);
  PlainRows result;
  for (const auto& [token, row] : x) {
    const std::vector<Vector> latents = attention.latents(token);
    std::vector<Vector> heads;
    for (std::int64_t h = 0; h < spec.q_heads; ++h) {
      const Vector q = attention.query(token, h);
      heads.push_back(form == LatentForm::kExpanded ? attention.expanded(q, h, latents) : attention.absorbed(q, h, latents));
    }
    gate_heads(layer, spec, row, heads);
    result[token] = project_out(layer, spec, columns(x), heads);
  }
  return result;
}

}  // namespace shardplan
