#include "calibrate/reference/plain_index.h"

#include <algorithm>

#include "calibrate/token_id.h"

namespace shardplan {
namespace {

bool in_reach(const AttentionSpec& spec, std::int64_t position, std::int64_t key) {
  if (spec.window == 0) return true;
  return spec.chunked ? key / spec.window == position / spec.window : key > position - spec.window;
}

Vector index_key(const PlainIndexer& of, std::int64_t id) {
  const std::int64_t dim = of.spec.index.head_dim;
  if (position_of(id) < slice_of(of.batch, id).prefix) return of.layer.row("cache_index", Part::kAttention, {id}, dim);
  const Vector& x = of.x.at(id);
  const Vector raw =
      of.layer.weight("w_index_k", Part::kAttention, static_cast<std::int64_t>(x.size())).times({}, dim, x);
  return plain_rotary(plain_norm(raw, of.layer.weight("w_norm", Part::kNorm, 0, of.norm)), of.rotary, position_of(id));
}

double score(const PlainIndexer& of, std::int64_t token, const std::vector<Vector>& q, const Vector& key) {
  double total = of.spec.index.weighted ? 0.0 : -1e300;
  const Vector& x = of.x.at(token);
  Vector weights;
  if (of.spec.index.weighted) {
    weights = of.layer.weight("w_index_weights", Part::kAttention, static_cast<std::int64_t>(x.size()))
                  .times({}, of.spec.index.heads, x);
  }
  for (std::size_t h = 0; h < q.size(); ++h) {
    const double product = plain_dot(q[h], key);
    total = of.spec.index.weighted ? total + weights[h] * std::max(product, 0.0) : std::max(total, product);
  }
  return total;
}

// The best blocks (of one position, or more) by their largest score; the last block first of all where blocks are
// larger.
std::vector<std::int64_t> choose(const IndexSpec& spec, const Vector& scores) {
  const auto count = static_cast<std::int64_t>(scores.size());
  std::vector<std::pair<double, std::int64_t>> blocks;
  for (std::int64_t first = 0; first < count; first += spec.block) {
    double best = -1e300;
    for (std::int64_t j = first; j < std::min(count, first + spec.block); ++j) best = std::max(best, scores[j]);
    if (spec.block > 1 && first + spec.block >= count) best = 1e300;
    blocks.emplace_back(-best, first);
  }
  std::sort(blocks.begin(), blocks.end());
  blocks.resize(std::min<std::size_t>(blocks.size(), static_cast<std::size_t>(spec.top_k / spec.block)));
  std::vector<std::int64_t> chosen;
  for (const auto& [value, first] : blocks) {
    for (std::int64_t j = first; j < std::min(count, first + spec.block); ++j) chosen.push_back(j);
  }
  return chosen;
}

}  // namespace

double plain_dot(const Vector& a, const Vector& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

const RequestSlice& slice_of(const RaggedBatch& batch, std::int64_t token) {
  return *std::find_if(batch.requests.begin(), batch.requests.end(),
                       [&](const RequestSlice& s) { return s.request == request_of(token); });
}

std::vector<std::int64_t> visible_positions(const PlainIndexer& of, std::int64_t token, const Vector& q_in) {
  const std::int64_t position = position_of(token);
  const IndexSpec& index = of.spec.index;
  std::vector<std::int64_t> positions;
  if (index.heads == 0) {
    for (std::int64_t j = 0; j <= position; ++j) {
      if (in_reach(of.spec, position, j)) positions.push_back(j);
    }
    return positions;
  }
  if (index.shared) {   // alone: the latest
    for (std::int64_t j = std::max<std::int64_t>(0, position + 1 - index.top_k); j <= position; ++j) positions.push_back(j);
    return positions;
  }
  std::vector<Vector> q;
  for (std::int64_t h = 0; h < index.heads; ++h) {
    const PlainWeight w = of.layer.weight("w_index_q", Part::kAttention, static_cast<std::int64_t>(q_in.size()));
    q.push_back(plain_rotary(w.times({h}, index.head_dim, q_in), of.rotary, position));
  }
  Vector scores;
  for (std::int64_t j = 0; j <= position; ++j)
    scores.push_back(score(of, token, q, index_key(of, token_id(request_of(token), j))));
  return choose(index, scores);
}

}  // namespace shardplan
