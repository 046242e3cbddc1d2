#include "calibrate/reference/plain_compressed.h"

#include <algorithm>
#include <cmath>

#include "calibrate/reference/plain_index.h"
#include "calibrate/token_id.h"

namespace shardplan {
namespace {

// Keys and gates of the tokens of one request, new ones by products, older ones from the state.
class PlainCompressor {
 public:
  struct Names {
    const char* keys;
    const char* gates;
    const char* table;
    const char* state;
    const char* cache;
  };

  PlainCompressor(const PlainLayer& layer, const RaggedBatch& batch, const PlainRows& x, Names names,
                  std::int64_t ratio, std::int64_t width, std::int64_t rotary, std::int64_t norm)
      : layer_(layer),
        batch_(batch),
        x_(x),
        names_(names),
        ratio_(ratio),
        overlap_(ratio == 4 ? 2 : 1),
        width_(width),
        rotary_(rotary),
        norm_(norm) {}

  // Normed and turned entry that ends with `id`'s position; cached where an earlier step made it.
  [[nodiscard]] Vector entry(std::int64_t id) const {
    const RequestSlice& slice = slice_of(batch_, id);
    const std::int64_t last = position_of(id);
    if (last < slice.prefix) return layer_.row(names_.cache, Part::kAttention, {id}, width_);
    const std::int64_t own = last + 1 - ratio_;
    Vector mixed;
    for (std::int64_t c = 0; c < width_; ++c) {
      double sum = 0.0;
      double total = 0.0;
      for (std::int64_t t = std::max<std::int64_t>(0, own - (overlap_ - 1) * ratio_); t <= last; ++t) {
        const std::int64_t column = overlap_ == 2 && t >= own ? width_ + c : c;
        const double weight = std::exp(value(slice, t, column, true) + table(t % ratio_ * overlap_ * width_ + column));
        sum += weight;
        total += weight * value(slice, t, column, false);
      }
      mixed.push_back(total / sum);
    }
    return plain_rotary(plain_norm(mixed, layer_.weight("w_norm", Part::kNorm, 0, norm_)), rotary_, last);
  }

 private:
  [[nodiscard]] double table(std::int64_t i) const { return layer_.weight(names_.table, Part::kAttention, 0).at({i}); }

  [[nodiscard]] double value(const RequestSlice& slice, std::int64_t t, std::int64_t column, bool gate) const {
    const std::int64_t columns = overlap_ * width_;
    if (t < slice.prefix) {
      const std::int64_t slot = t % (overlap_ * ratio_);
      const std::uint64_t key = layer_.source.key(names_.state, Part::kAttention, 0, layer_.layer);
      return layer_.source.uniform(key, {token_id(slice.request, 0), (slot * 2 + (gate ? 1 : 0)) * columns + column});
    }
    const Vector& row = x_.at(token_id(slice.request, t));
    const PlainWeight w =
        layer_.weight(gate ? names_.gates : names_.keys, Part::kAttention, static_cast<std::int64_t>(row.size()));
    double sum = 0.0;
    for (std::size_t i = 0; i < row.size(); ++i) sum += w.at({column, static_cast<std::int64_t>(i)}) * row[i];
    return sum;
  }

  const PlainLayer& layer_;
  const RaggedBatch& batch_;
  const PlainRows& x_;
  Names names_;
  std::int64_t ratio_;
  std::int64_t overlap_;
  std::int64_t width_;
  std::int64_t rotary_;
  std::int64_t norm_;
};

constexpr PlainCompressor::Names kKeys{"w_compress_kv", "w_compress_gate", "w_compress_position", "state_compress",
                                       "cache_entries"};
constexpr PlainCompressor::Names kIndex{"w_index_compress_kv", "w_index_compress_gate", "w_index_compress_position",
                                        "state_index_compress", "cache_index"};

class CompressedAttention {
 public:
  CompressedAttention(const PlainLayer& layer, const AttentionSpec& spec, const RaggedBatch& batch, const PlainRows& x)
      : layer_(layer),
        spec_(spec),
        batch_(batch),
        x_(x),
        hidden_(static_cast<std::int64_t>(x.begin()->second.size())),
        keys_(layer, batch, x, kKeys, spec.compressed.ratio, spec.head_dim, spec.rope_dim, 3),
        index_(layer, batch, x, kIndex, spec.compressed.ratio, spec.index.head_dim,
               std::min(spec.rope_dim, spec.index.head_dim), 4) {}

  [[nodiscard]] Vector output(std::int64_t token) const {
    const Vector q_latent = plain_norm(product("w_q_a", spec_.q_latent, x_.at(token)), norm(1));
    std::vector<Vector> seen;
    for (std::int64_t j = std::max<std::int64_t>(0, position_of(token) + 1 - spec_.window); j <= position_of(token);
         ++j) {
      seen.push_back(window_key(token_id(request_of(token), j)));
    }
    for (const std::int64_t end : entries(token, q_latent)) seen.push_back(keys_.entry(end));
    std::vector<Vector> heads;
    for (std::int64_t h = 0; h < spec_.q_heads; ++h) {
      const Vector raw = layer_.weight("w_q_b", Part::kAttention, spec_.q_latent).times({h}, spec_.head_dim, q_latent);
      heads.push_back(attend(plain_rotary(raw, spec_.rope_dim, position_of(token)), h, seen));
    }
    return projected(heads);
  }

 private:
  [[nodiscard]] PlainWeight norm(std::int64_t ordinal) const {
    return layer_.weight("w_norm", Part::kNorm, 0, ordinal);
  }
  [[nodiscard]] Vector product(const char* name, std::int64_t outputs, const Vector& in) const {
    return layer_.weight(name, Part::kAttention, static_cast<std::int64_t>(in.size())).times({}, outputs, in);
  }

  [[nodiscard]] Vector window_key(std::int64_t id) const {
    if (position_of(id) < slice_of(batch_, id).prefix)
      return layer_.row("cache_window", Part::kAttention, {id}, spec_.head_dim);
    return plain_rotary(plain_norm(product("w_key", spec_.head_dim, x_.at(id)), norm(2)), spec_.rope_dim,
                        position_of(id));
  }

  // Last tokens of the entries that `token` attends to.
  [[nodiscard]] std::vector<std::int64_t> entries(std::int64_t token, const Vector& q_latent) const {
    std::vector<std::int64_t> ends;
    if (spec_.compressed.ratio == 0) return ends;
    for (std::int64_t p = spec_.compressed.ratio - 1; p <= position_of(token); p += spec_.compressed.ratio) {
      ends.push_back(token_id(request_of(token), p));
    }
    const IndexSpec& index = spec_.index;
    if (index.heads == 0) return ends;
    const Vector weights = product("w_index_weights", index.heads, x_.at(token));
    std::vector<std::pair<double, std::int64_t>> scored;
    for (const std::int64_t end : ends) {
      double score = 0.0;
      for (std::int64_t h = 0; h < index.heads; ++h) {
        const Vector q =
            layer_.weight("w_index_q", Part::kAttention, spec_.q_latent).times({h}, index.head_dim, q_latent);
        const std::int64_t rotary = std::min(spec_.rope_dim, index.head_dim);
        score += weights[h] * std::max(0.0, plain_dot(plain_rotary(q, rotary, position_of(token)), index_.entry(end)));
      }
      scored.emplace_back(-score, end);
    }
    std::sort(scored.begin(), scored.end());
    scored.resize(std::min<std::size_t>(scored.size(), static_cast<std::size_t>(index.top_k)));
    ends.clear();
    for (const auto& [score, end] : scored) ends.push_back(end);
    return ends;
  }

  [[nodiscard]] Vector attend(const Vector& q, std::int64_t head, const std::vector<Vector>& seen) const {
    double total = spec_.sinks ? std::exp(layer_.weight("w_sinks", Part::kAttention, 0).at({head})) : 0.0;
    Vector out(q.size(), 0.0);
    for (const Vector& key : seen) {
      const double weight = std::exp(plain_dot(q, key) / std::sqrt(static_cast<double>(spec_.head_dim)));
      total += weight;
      for (std::size_t c = 0; c < out.size(); ++c) out[c] += weight * key[c];
    }
    for (double& v : out) v /= total;
    return out;
  }

  [[nodiscard]] Vector projected(const std::vector<Vector>& heads) const {
    const std::int64_t groups = spec_.compressed.output_groups;
    const std::int64_t each = spec_.q_heads / groups;
    const std::int64_t rank = spec_.compressed.output_rank;
    const PlainWeight up = layer_.weight("w_o_b", Part::kAttention, groups * rank);
    Vector y(static_cast<std::size_t>(hidden_), 0.0);
    for (std::int64_t g = 0; g < groups; ++g) {
      Vector wide;
      for (std::int64_t h = g * each; h < (g + 1) * each; ++h)
        wide.insert(wide.end(), heads[h].begin(), heads[h].end());
      const Vector narrow = layer_.weight("w_o_a", Part::kAttention, each * spec_.head_dim).times({g}, rank, wide);
      for (std::int64_t i = 0; i < hidden_; ++i) {
        for (std::int64_t r = 0; r < rank; ++r) y[i] += up.at({i, g, r}) * narrow[r];
      }
    }
    return y;
  }

  const PlainLayer& layer_;
  const AttentionSpec& spec_;
  const RaggedBatch& batch_;
  const PlainRows& x_;
  std::int64_t hidden_;
  PlainCompressor keys_;
  PlainCompressor index_;
};

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

}  // namespace

PlainRows plain_compressed_attention(const PlainLayer& layer, const AttentionSpec& spec, const RaggedBatch& batch,
                                     const PlainRows& x) {
  const CompressedAttention attention(layer, spec, batch, x);
  PlainRows result;
  for (const auto& [token, row] : x) result[token] = attention.output(token);
  return result;
}

PlainStreams::PlainStreams(const PlainLayer& layer, std::int64_t streams, std::int64_t site, const PlainRows& x)
    : streams_(streams), x_(x) {
  const auto n = static_cast<std::size_t>(streams);
  const auto wide = static_cast<std::int64_t>(x.begin()->second.size());
  const std::int64_t hidden = wide / streams;
  const PlainWeight w = layer.weight("w_streams", Part::kNorm, wide, site);
  const PlainWeight bias = layer.weight("b_streams", Part::kNorm, 0, site);
  for (const auto& [token, row] : x) {
    const auto logit = [&, &row = row](std::int64_t i) {
      double sum = bias.at({i});
      for (std::int64_t c = 0; c < wide; ++c) sum += w.at({i, c / hidden, c % hidden}) * row[c];
      return sum;
    };
    Mix& mix = mix_[token];
    for (std::int64_t s = 0; s < streams; ++s) {
      mix.read.push_back(sigmoid(logit(s)));
      mix.write.push_back(2 * sigmoid(logit(streams + s)));
      mix.among.emplace_back();
      for (std::int64_t j = 0; j < streams; ++j) mix.among.back().push_back(std::exp(logit((2 + s) * streams + j)));
    }
    for (int round = 0; round < 4; ++round) {
      for (Vector& to : mix.among) {
        double sum = 0.0;
        for (const double a : to) sum += a;
        for (double& a : to) a /= sum;
      }
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0.0;
        for (const Vector& to : mix.among) sum += to[j];
        for (Vector& to : mix.among) to[j] /= sum;
      }
    }
  }
}

PlainRows PlainStreams::read() const {
  PlainRows result;
  for (const auto& [token, row] : x_) {
    const std::size_t hidden = row.size() / static_cast<std::size_t>(streams_);
    Vector& in = result[token];
    in.assign(hidden, 0.0);
    for (std::size_t c = 0; c < row.size(); ++c) in[c % hidden] += mix_.at(token).read[c / hidden] * row[c];
  }
  return result;
}

PlainRows PlainStreams::written(const PlainRows& branch) const {
  PlainRows result;
  for (const auto& [token, row] : x_) {
    const std::size_t hidden = row.size() / static_cast<std::size_t>(streams_);
    const Mix& mix = mix_.at(token);
    Vector& out = result[token];
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::size_t stream = c / hidden;
      double sum = mix.write[stream] * branch.at(token)[c % hidden];
      for (std::size_t j = 0; j < mix.read.size(); ++j) sum += mix.among[stream][j] * row[j * hidden + c % hidden];
      out.push_back(sum);
    }
  }
  return result;
}

}  // namespace shardplan
