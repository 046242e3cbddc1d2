// The generic lowering: logical graph + table of placements -> step graph.
//
// For each operation: take its inputs as they are placed, ask the rule what it needs, put a conversion where the two
// differ. Knows no strategy.
#pragma once

#include <stdexcept>
#include <string>

#include "costmodel/step_graph.h"
#include "costmodel/strategy.h"

namespace shardplan {

// A table that no single-collective conversions can serve (a legal answer, not a bug): the search rejects it.
class LoweringRefusal : public std::runtime_error {
 public:
  LoweringRefusal(const std::string& rule, const std::string& message) : std::runtime_error(message), rule_(rule) {}
  [[nodiscard]] const std::string& rule() const { return rule_; }

 private:
  std::string rule_;
};

// Throws LoweringRefusal.
[[nodiscard]] StepGraph lower(LogicalGraph graph, const Strategy& strategy, StepForm form);

}  // namespace shardplan
