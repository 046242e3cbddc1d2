#include "calibrate/nodes/lse_merge.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace shardplan {

namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

}  // namespace

std::vector<float> merged_lse(const std::vector<std::vector<float>>& parts) {
  std::vector<float> most = parts.front();
  for (const auto& part : parts) {
    for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], part[i]);
  }
  std::vector<float> result(most.size(), kNothing);
  for (std::size_t i = 0; i < most.size(); ++i) {
    if (most[i] == kNothing) continue;
    float sum = 0.0F;
    for (const auto& part : parts) sum += std::exp(part[i] - most[i]);
    result[i] = most[i] + std::log(sum);
  }
  return result;
}

float lse_weight(float part, float whole) { return part == kNothing ? 0.0F : std::exp(part - whole); }

}  // namespace shardplan
