// Tokens that a model has sampled, by the place where the next step reads them. Prompts are random (TensorSource).
#pragma once

#include <cstdint>
#include <unordered_map>

#include "calibrate/local_array.h"
#include "calibrate/token_id.h"

namespace shardplan {

class TokenBook {
 public:
  // `sampled` [tokens]: what follows each of them, so many positions ahead.
  void take(const LocalArray& sampled, std::int64_t ahead = 1) {
    const auto& tokens = sampled.dims.front().ids;
    for (std::size_t i = 0; i < tokens.size(); ++i) next_[tokens[i] + ahead] = sampled.values[i];
  }
  // The token at a place, or `otherwise`.
  [[nodiscard]] float at(std::int64_t token, float otherwise) const {
    const auto it = next_.find(token);
    return it == next_.end() ? otherwise : it->second;
  }

 private:
  std::unordered_map<std::int64_t, float> next_;
};

}  // namespace shardplan
