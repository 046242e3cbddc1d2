#include "models/rotary.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "models/limits.h"

namespace shardplan {
namespace {

constexpr double kMaxFactor = 10'000;

// Rows of a table under "rope_scaling" or one of "rope_parameters". Values of a wrong kind are as good as absent: the
// table is small, and no reason to refuse a model.
std::int64_t rows_of(const Json* scaling, std::int64_t positions) {
  if (scaling == nullptr || !scaling->is_object()) return positions;
  const auto text = [&](const char* key) {
    const auto it = scaling->find(key);
    return it != scaling->end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  const auto number = [&](const char* key) {
    const auto it = scaling->find(key);
    return it != scaling->end() && it->is_number() ? it->get<double>() : 0.0;
  };
  const std::string type = text("rope_type").empty() ? text("type") : text("rope_type");
  const double factor = std::clamp(number("factor"), 0.0, kMaxFactor);
  double rows = static_cast<double>(positions);
  if (type == "linear" && factor > 1) rows *= factor;
  if (type == "yarn" && factor > 1) rows = std::max(rows, number("original_max_position_embeddings") * factor);
  return static_cast<std::int64_t>(std::min(rows, static_cast<double>(kMaxPositions)));
}

double rotated_part(JsonObject& config, const Json* parameters) {
  if (parameters != nullptr && parameters->is_object()) {
    const auto it = parameters->find("partial_rotary_factor");
    if (it != parameters->end() && it->is_number()) return std::clamp(it->get<double>(), 0.0, 1.0);
  }
  const Json* part = config.find("partial_rotary_factor");
  return part != nullptr && part->is_number() ? std::clamp(part->get<double>(), 0.0, 1.0) : 1.0;
}

std::int64_t columns_of(const AttentionSpec& attention) {
  if (!attention.rotary) return 0;
  if (attention.kind == AttentionKind::kLatent) return attention.rope_dim;
  return attention.kind == AttentionKind::kGrouped ? attention.head_dim : 0;
}

}  // namespace

std::int64_t count_rotary_elements(JsonObject& config, const ModelSpec& model) {
  const Json* parameters = config.find("rope_parameters");
  const Json* scaling = parameters != nullptr ? parameters : config.find("rope_scaling");
  // Sliding layers have a base of their own where the config says so, and the scaling is not theirs.
  const bool by_type = parameters != nullptr && parameters->is_object() && parameters->contains("sliding_attention");
  const bool local = by_type || config.find("rope_local_base_freq") != nullptr;
  std::vector<std::pair<bool, std::int64_t>> seen;
  std::int64_t elements = 0;
  for (const LayerKind& kind : model.kinds) {
    const std::int64_t width = columns_of(kind.attention);
    const bool sliding = local && kind.attention.window > 0;
    if (width == 0 || std::find(seen.begin(), seen.end(), std::pair(sliding, width)) != seen.end()) continue;
    seen.emplace_back(sliding, width);
    const Json* own = scaling;
    if (by_type) {
      const auto it = parameters->find(sliding ? "sliding_attention" : "full_attention");
      own = it != parameters->end() ? &*it : nullptr;
    } else if (sliding) {
      own = nullptr;
    }
    const double part = kind.attention.kind == AttentionKind::kLatent ? 1 : rotated_part(config, own);
    elements += rows_of(own, model.max_positions) * static_cast<std::int64_t>(static_cast<double>(width) * part);
  }
  return elements;
}

}  // namespace shardplan
