// Every parallel strategy, one file each; a configuration is their composition in this order.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "costmodel/parallel_config.h"
#include "costmodel/strategy.h"
#include "models/model_spec.h"

namespace shardplan {

// Why a configuration cannot be built: rule id and one sentence with the numbers.
struct Violation {
  std::string rule;
  std::string message;
};

struct StrategyContext {
  const ModelSpec& model;
  const ParallelConfig& config;
  StepForm form;
};

struct StrategyModule {
  const char* name;       // "tensor_parallel"
  const char* help;       // one line
  // Neutral legality: rules that hold for any engine.
  void (*check)(const ModelSpec&, const ParallelConfig&, std::vector<Violation>&);
  // Adds its rows to the table; called only for configurations that pass every check.
  void (*apply)(const StrategyContext&, Strategy&);
};

[[nodiscard]] const std::vector<StrategyModule>& strategy_modules();

// All violations of neutral legality, in module order; empty when legal.
[[nodiscard]] std::vector<Violation> check_config(const ModelSpec& model, const ParallelConfig& config);
// The table of a legal configuration in one form. Precondition: check_config is empty.
[[nodiscard]] Strategy build_strategy(const ModelSpec& model, const ParallelConfig& config, StepForm form);

}  // namespace shardplan
