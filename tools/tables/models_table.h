// The catalog of models, or one model, for people.
#pragma once

#include <string>
#include <vector>

#include "models/model_spec.h"

namespace shardplan {

[[nodiscard]] std::string models_table(const std::vector<ModelSpec>& models);
[[nodiscard]] std::string model_table(const ModelSpec& model);

}  // namespace shardplan
