// Models and questions that the engines' rule tests share.
#pragma once

#include <string>
#include <vector>

#include "planner/deployment.h"
#include "planner/engine.h"
#include "tests/planner/requests.h"

namespace shardplan {

// The rules that `config` breaks under `engine`, neutral ones included, as the engine would run it.
[[nodiscard]] std::vector<std::string> broken_rules(const char* engine, const ModelSpec& model,
                                                    const ParallelConfig& config, const std::string& version = "",
                                                    const char* hardware = "h200-sxm");
[[nodiscard]] bool breaks_rule(const char* engine, const ModelSpec& model, const ParallelConfig& config,
                               const std::string& rule, const std::string& version = "");
// Llama-3.1-8B with the given heads and else nothing that divides badly.
[[nodiscard]] ModelSpec with_heads(std::int64_t q, std::int64_t kv);
[[nodiscard]] ModelSpec with_weights(const char* name, const char* format);

}  // namespace shardplan
