#include "calibrate/reference/plain_recurrent.h"

#include <cmath>

#include "calibrate/token_id.h"

namespace shardplan {
namespace {

using Matrix = std::vector<Vector>;

double softplus(double x) { return std::log1p(std::exp(x)); }
double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

Vector unit(const Vector& x, double factor) {
  double sum = 1e-6;
  for (const double v : x) sum += v * v;
  Vector y;
  for (const double v : x) y.push_back(v * factor / std::sqrt(sum));
  return y;
}

// One value head over the tokens of one request.
class PlainHead {
 public:
  PlainHead(const PlainLayer& layer, const RecurrentSpec& spec, const RequestSlice& slice, const PlainRows& x,
            std::int64_t head)
      : layer_(layer),
        spec_(spec),
        slice_(slice),
        x_(x),
        head_(head),
        key_head_(head / (spec.value_heads / spec.key_heads)) {}

  // Normed and gated output of each new token.
  [[nodiscard]] Matrix run() const {
    Matrix state = first_state();
    Matrix outputs;
    for (std::int64_t t = 0; t < slice_.new_tokens; ++t) {
      const Vector v = convolved("w_scan_v", t, false, 0, spec_.value_dim);
      const Vector q = convolved("w_scan_q", t, true, 0, spec_.key_dim);
      const Vector k = convolved("w_scan_k", t, true, spec_.key_dim, spec_.key_dim);
      outputs.push_back(finished(
          spec_.rule == RecurrentRule::kStateSpace ? state_space(state, t, q, k, v) : delta(state, t, q, k, v), t));
    }
    return outputs;
  }

 private:
  [[nodiscard]] const Vector& row(std::int64_t t) const { return x_.at(token_id(slice_.request, slice_.prefix + t)); }
  [[nodiscard]] std::int64_t request() const { return token_id(slice_.request, 0); }
  [[nodiscard]] std::int64_t hidden() const { return static_cast<std::int64_t>(row(0).size()); }
  [[nodiscard]] double vector(std::int64_t i) const {
    return layer_.weight("w_scan_head", Part::kAttention, 1).at({head_, i});
  }

  [[nodiscard]] Vector project(const char* name, std::int64_t t, std::int64_t head, std::int64_t width) const {
    return layer_.weight(name, Part::kAttention, hidden()).times({head}, width, row(t));
  }

  // Projection into heads without a width.
  [[nodiscard]] double scalar(const char* name, std::int64_t t) const {
    return layer_.weight(name, Part::kAttention, hidden())
        .times({}, spec_.value_heads, row(t))[static_cast<std::size_t>(head_)];
  }

  [[nodiscard]] Vector low_rank(const char* down, const char* up, std::int64_t rank, std::int64_t t,
                                std::int64_t width) const {
    const Vector narrow = layer_.weight(down, Part::kAttention, hidden()).times({}, rank, row(t));
    return layer_.weight(up, Part::kAttention, rank).times({head_}, width, narrow);
  }

  // Channel `c` of the raw input `back` tokens before new token `t`.
  [[nodiscard]] double raw(const char* name, std::int64_t t, bool key, std::int64_t channel, std::int64_t c) const {
    if (t >= 0)
      return project(name, t, key ? key_head_ : head_,
                     key ? spec_.key_dim : spec_.value_dim)[static_cast<std::size_t>(c)];
    if (slice_.prefix == 0) return 0.0;
    const std::int64_t kept = spec_.conv_width - 1;
    const Vector stored =
        layer_.row(key ? "state_conv_k" : "state_conv_v", Part::kAttention, {request(), key ? key_head_ : head_},
                   (key ? 2 * spec_.key_dim : spec_.value_dim) * kept);
    return stored[static_cast<std::size_t>((channel + c) * kept + kept + t)];
  }

  [[nodiscard]] Vector convolved(const char* name, std::int64_t t, bool key, std::int64_t channel,
                                 std::int64_t width) const {
    const std::int64_t taps = spec_.conv_width + (spec_.conv_bias ? 1 : 0);
    const PlainWeight w = layer_.weight(key ? "w_conv_k" : "w_conv_v", Part::kAttention, 1);
    const std::int64_t head = key ? key_head_ : head_;
    Vector out;
    for (std::int64_t c = 0; c < width; ++c) {
      double sum = spec_.conv_bias ? w.at({head, (channel + c) * taps + spec_.conv_width}) : 0.0;
      for (std::int64_t i = 0; i < spec_.conv_width; ++i) {
        sum += w.at({head, (channel + c) * taps + i}) * raw(name, t - spec_.conv_width + 1 + i, key, channel, c);
      }
      out.push_back(plain_silu(sum));
    }
    return out;
  }

  [[nodiscard]] Matrix first_state() const {
    Matrix state(static_cast<std::size_t>(spec_.key_dim), Vector(static_cast<std::size_t>(spec_.value_dim), 0.0));
    if (slice_.prefix == 0) return state;
    const Vector flat = layer_.row("state", Part::kAttention, {request(), head_}, spec_.key_dim * spec_.value_dim);
    for (std::size_t i = 0; i < flat.size(); ++i) state[i / state[0].size()][i % state[0].size()] = flat[i];
    return state;
  }

  [[nodiscard]] static Vector read(const Matrix& state, const Vector& key) {
    Vector y(state[0].size(), 0.0);
    for (std::size_t i = 0; i < state.size(); ++i) {
      for (std::size_t j = 0; j < y.size(); ++j) y[j] += state[i][j] * key[i];
    }
    return y;
  }

  // S = a S + b k (v - (a S)^T k)^T.
  [[nodiscard]] Vector delta(Matrix& state, std::int64_t t, const Vector& q, const Vector& k, const Vector& v) const {
    const Vector query = unit(q, 1.0 / std::sqrt(static_cast<double>(spec_.key_dim)));
    const Vector key = unit(k, 1.0);
    const double beta = sigmoid(scalar("w_scan_beta", t));
    decay(state, t);
    const Vector held = read(state, key);
    for (std::size_t i = 0; i < state.size(); ++i) {
      for (std::size_t j = 0; j < v.size(); ++j) state[i][j] += beta * key[i] * (v[j] - held[j]);
    }
    return read(state, query);
  }

  void decay(Matrix& state, std::int64_t t) const {
    Vector logs;  // one for each key row
    if (spec_.rule == RecurrentRule::kKeyGatedDelta) {
      const Vector drop = low_rank("w_decay_down", "w_decay_up", spec_.value_dim, t, spec_.key_dim);
      for (std::int64_t i = 0; i < spec_.key_dim; ++i)
        logs.push_back(-std::exp(vector(spec_.key_dim)) * softplus(drop[i] + vector(i)));
    } else {
      logs.assign(state.size(), -std::exp(vector(1)) * softplus(scalar("w_scan_decay", t) + vector(0)));
    }
    for (std::size_t i = 0; i < state.size(); ++i) {
      for (double& cell : state[i]) cell *= std::exp(logs[i]);
    }
  }

  [[nodiscard]] Vector state_space(Matrix& state, std::int64_t t, const Vector& q, const Vector& k,
                                   const Vector& v) const {
    const double step = softplus(scalar("w_scan_decay", t) + vector(0));
    for (std::size_t i = 0; i < state.size(); ++i) {
      for (std::size_t j = 0; j < v.size(); ++j)
        state[i][j] = std::exp(-std::exp(vector(1)) * step) * state[i][j] + step * k[i] * v[j];
    }
    Vector y = read(state, q);
    for (std::size_t j = 0; j < y.size(); ++j) y[j] += vector(2) * v[j];
    return y;
  }

  [[nodiscard]] Vector finished(const Vector& y, std::int64_t t) const {
    Vector out = plain_norm(y, layer_.weight("w_norm", Part::kNorm, 0, 1));
    const Vector gate = spec_.gate_rank > 0 ? low_rank("w_gate_down", "w_gate_up", spec_.gate_rank, t, spec_.value_dim)
                                            : project("w_scan_gate", t, head_, spec_.value_dim);
    for (std::size_t c = 0; c < out.size(); ++c) out[c] *= plain_silu(gate[c]);
    return out;
  }

  const PlainLayer& layer_;
  const RecurrentSpec& spec_;
  const RequestSlice& slice_;
  const PlainRows& x_;
  std::int64_t head_;
  std::int64_t key_head_;
};

}  // namespace

PlainRows plain_recurrent(const PlainLayer& layer, const RecurrentSpec& spec, const RaggedBatch& batch,
                          const PlainRows& x) {
  const auto hidden = static_cast<std::int64_t>(x.begin()->second.size());
  const PlainWeight w_o = layer.weight("w_o", Part::kAttention, spec.value_heads * spec.value_dim);
  PlainRows result;
  for (const RequestSlice& slice : batch.requests) {
    for (std::int64_t h = 0; h < spec.value_heads; ++h) {
      const Matrix outputs = PlainHead(layer, spec, slice, x, h).run();
      for (std::int64_t t = 0; t < slice.new_tokens; ++t) {
        Vector& row =
            result.try_emplace(token_id(slice.request, slice.prefix + t), Vector(static_cast<std::size_t>(hidden), 0.0))
                .first->second;
        for (std::int64_t i = 0; i < hidden; ++i) {
          for (std::int64_t c = 0; c < spec.value_dim; ++c) row[i] += w_o.at({i, h, c}) * outputs[t][c];
        }
      }
    }
  }
  return result;
}

}  // namespace shardplan
