// The document shardplan.models/1: the sizes of one or more models.
#pragma once

#include <string>
#include <vector>

#include "models/model_spec.h"

namespace shardplan {

[[nodiscard]] std::string models_document(const std::vector<ModelSpec>& models);

}  // namespace shardplan
