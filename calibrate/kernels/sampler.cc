#include "calibrate/kernels/sampler.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace shardplan {
namespace {

// The least weight that is kept. `weights` are reordered.
float threshold_of(std::vector<float>& weights, const SamplerSettings& settings) {
  auto end = weights.end();
  if (settings.top_k > 0 && settings.top_k < std::ssize(weights)) {
    const auto last = weights.begin() + settings.top_k - 1;
    std::nth_element(weights.begin(), last, weights.end(), std::greater<>());
    end = std::partition(weights.begin(), weights.end(), [least = *last](float w) { return w >= least; });
  }
  if (settings.top_p >= 1) return *std::min_element(weights.begin(), end);
  std::sort(weights.begin(), end, std::greater<>());
  double all = 0;
  for (auto it = weights.begin(); it != end; ++it) all += static_cast<double>(*it);
  double mass = 0;
  for (auto it = weights.begin(); it != end; ++it) {
    mass += static_cast<double>(*it);
    if (mass >= static_cast<double>(settings.top_p) * all) return *it;
  }
  return *(end - 1);
}

}  // namespace

std::int64_t drawn_token(const float* logits, std::int64_t count, const SamplerSettings& settings, std::int64_t row) {
  const float most = *std::max_element(logits, logits + count);
  std::vector<float> weights(logits, logits + count);
  for (float& x : weights) x = std::exp((x - most) / settings.temperature);
  std::vector<float> order = weights;
  const float least = threshold_of(order, settings);
  std::int64_t best = -1;
  float best_key = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (weights[static_cast<std::size_t>(i)] < least) continue;
    const float key = weights[static_cast<std::size_t>(i)] / race_time(settings.seed, row, i);
    if (best >= 0 && key <= best_key) continue;
    best = i;
    best_key = key;
  }
  return best;
}

void sample_top_p(const LocalArray& logits, const SamplerSettings& settings, LocalArray& token_ids) {
  const auto rows = offsets_of(logits.dims, token_ids.dims, "logits");
  const auto& vocab = logits.ids(Dim::kVocab);
  for (std::size_t t = 0; t < rows.size(); ++t) {
    const std::int64_t token =
        drawn_token(logits.values.data() + rows[t], logits.columns(), settings, static_cast<std::int64_t>(t));
    token_ids.values[t] = static_cast<float>(vocab[static_cast<std::size_t>(token)]);
  }
}

}  // namespace shardplan
