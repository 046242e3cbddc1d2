#include "calibrate/kernels/scan.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "calibrate/kernels/elementwise.h"
#include "calibrate/token_id.h"

namespace shardplan {
namespace {

using Floats = std::vector<float>;

constexpr float kUnitEpsilon = 1e-6F;

float softplus(float x) { return x > 20.0F ? x : std::log1p(std::exp(x)); }

void to_unit_length(Floats& x) {
  float sum = 0.0F;
  for (const float value : x) sum += value * value;
  const float scale = 1.0F / std::sqrt(sum + kUnitEpsilon);
  for (float& value : x) value *= scale;
}

// Causal convolution of some channels of one head: `kept` holds their last W-1 inputs, the oldest first, channel by
// channel.
struct Convolution {
  std::int64_t width = 1;
  bool bias = false;

  [[nodiscard]] Floats step(const float* x, std::int64_t channels, const float* weights, float* kept) const {
    const std::int64_t taps = width + (bias ? 1 : 0);
    Floats out;
    for (std::int64_t c = 0; c < channels; ++c) {
      float* past = kept + c * (width - 1);
      const float* w = weights + c * taps;
      float sum = bias ? w[width] : 0.0F;
      for (std::int64_t i = 0; i + 1 < width; ++i) sum += w[i] * past[i];
      sum += w[width - 1] * x[c];
      for (std::int64_t i = 0; i + 2 < width; ++i) past[i] = past[i + 1];
      if (width > 1) past[width - 2] = x[c];
      out.push_back(silu(sum));
    }
    return out;
  }
};

// One value head: S [key, value], row-major.
class Head {
 public:
  Head(const RecurrentSpec& spec, float* state, const float* vectors) : spec_(spec), state_(state), vectors_(vectors) {}

  void step(Floats q, Floats k, const Floats& v, const float* decay, float beta, float* y) const {
    const bool delta = spec_.rule != RecurrentRule::kStateSpace;
    if (delta) {
      to_unit_length(q);
      to_unit_length(k);
      for (float& x : q) x /= std::sqrt(static_cast<float>(spec_.key_dim));
    }
    const float width = delta ? sigmoid(beta) : softplus(decay[0] + vectors_[0]);
    for (std::int64_t i = 0; i < spec_.key_dim; ++i) {
      const float a = remains(decay, i);
      for (std::int64_t j = 0; j < spec_.value_dim; ++j) cell(i, j) *= a;
    }
    for (std::int64_t j = 0; j < spec_.value_dim; ++j) {
      const float change = width * (delta ? v[j] - read(k, j) : v[j]);
      for (std::int64_t i = 0; i < spec_.key_dim; ++i) cell(i, j) += k[i] * change;
      y[j] = read(q, j) + (delta ? 0.0F : vectors_[2] * v[j]);
    }
  }

 private:
  float& cell(std::int64_t i, std::int64_t j) const { return state_[i * spec_.value_dim + j]; }

  [[nodiscard]] float read(const Floats& key, std::int64_t j) const {
    float sum = 0.0F;
    for (std::int64_t i = 0; i < spec_.key_dim; ++i) sum += cell(i, j) * key[i];
    return sum;
  }

  // What is left of key row i after a token. Vectors: dt for each row then A (KDA); dt, A(, skip) otherwise.
  [[nodiscard]] float remains(const float* decay, std::int64_t i) const {
    const bool by_key = spec_.rule == RecurrentRule::kKeyGatedDelta;
    const float a = vectors_[by_key ? spec_.key_dim : 1];
    const float step = softplus(by_key ? decay[i] + vectors_[i] : decay[0] + vectors_[0]);
    return std::exp(-std::exp(a) * step);
  }

  const RecurrentSpec& spec_;
  float* state_;
  const float* vectors_;
};

// Row of a request in the state arrays, by the token's id.
std::int64_t request_row(const LocalArray& state, std::int64_t token) {
  const auto& ids = state.dims.front().ids;
  const auto it = std::find(ids.begin(), ids.end(), token_id(request_of(token), 0));
  if (it == ids.end()) throw InternalError("the state of a request is on another rank");
  return it - ids.begin();
}

std::int64_t held(const LocalArray& array, Dim dim) { return static_cast<std::int64_t>(array.ids(dim).size()); }

}  // namespace

void scan(const ScanInputs& in, const RecurrentSpec& spec, ScanState& state, LocalArray& y) {
  const Convolution conv{spec.conv_width, spec.conv_bias};
  const auto& tokens = y.dims.front().ids;
  ensure(in.q.dims.front().ids == tokens && in.v.dims.front().ids == tokens && in.decay.dims.front().ids == tokens,
         "a scan needs the same tokens everywhere");
  const std::int64_t key_heads = held(in.q, Dim::kKvHeads);
  const auto& value_heads = y.ids(Dim::kHeads);
  const auto heads = static_cast<std::int64_t>(value_heads.size());
  const std::int64_t key_taps = spec.key_dim * (spec.conv_width + (spec.conv_bias ? 1 : 0));
  const std::int64_t key_kept = spec.key_dim * (spec.conv_width - 1);
  const std::int64_t decays = spec.rule == RecurrentRule::kKeyGatedDelta ? spec.key_dim : 1;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    const std::int64_t row = request_row(state.state, tokens[t]);
    const auto at = static_cast<std::int64_t>(t);
    std::vector<Floats> q;
    std::vector<Floats> k;
    for (std::int64_t g = 0; g < key_heads; ++g) {
      const float* weights = in.conv_k.values.data() + g * 2 * key_taps;
      float* kept = state.conv_k.values.data() + (row * key_heads + g) * 2 * key_kept;
      q.push_back(conv.step(in.q.values.data() + (at * key_heads + g) * spec.key_dim, spec.key_dim, weights, kept));
      k.push_back(conv.step(in.k.values.data() + (at * key_heads + g) * spec.key_dim, spec.key_dim, weights + key_taps,
                            kept + key_kept));
    }
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t key_head = value_heads[static_cast<std::size_t>(h)] * spec.key_heads / spec.value_heads;
      const auto& keys = in.q.ids(Dim::kKvHeads);
      const auto g = std::find(keys.begin(), keys.end(), key_head) - keys.begin();
      ensure(g < key_heads, "a value head without its key head");
      const Floats v = conv.step(in.v.values.data() + (at * heads + h) * spec.value_dim, spec.value_dim,
                                 in.conv_v.values.data() + h * in.conv_v.columns(),
                                 state.conv_v.values.data() + (row * heads + h) * state.conv_v.columns());
      const Head head(spec, state.state.values.data() + (row * heads + h) * state.state.columns(),
                      in.head.values.data() + h * in.head.columns());
      head.step(q[static_cast<std::size_t>(g)], k[static_cast<std::size_t>(g)], v,
                in.decay.values.data() + (at * heads + h) * decays,
                in.beta != nullptr ? in.beta->values[at * heads + h] : 0.0F,
                y.values.data() + (at * heads + h) * spec.value_dim);
    }
  }
}

}  // namespace shardplan
