// A configuration lowered once: the step graphs of one stage's parts, and how layers fall to stages.
//
// Graphs do not depend on the pipeline split or the number of replicas, so that a search lowers once per table of
// placements and reuses it. With pcp = 1 one mixed graph serves decode, prefill and mixed steps (a phase without
// tokens costs nothing); with pcp > 1 prefill and decode place tokens differently and never share a step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "costmodel/lowering/registry.h"
#include "costmodel/lower.h"
#include "costmodel/parallel_config.h"
#include "costmodel/step_graph.h"
#include "models/model_spec.h"

namespace shardplan {

struct StageGraphs {
  StepForm form = StepForm::kMixed;
  StepGraph embedding;
  std::vector<StepGraph> layers;    // by layer kind
  StepGraph head;
  StepGraph boundary;               // one send of the residual stream to the next stage
};

struct LoweredModel {
  std::vector<StageGraphs> forms;   // {mixed}, or {decode, prefill}
  [[nodiscard]] const StageGraphs& serving(Phase phase) const;   // the graphs that run decode or prefill tokens
  [[nodiscard]] bool mixes() const { return forms.size() == 1; }
};

// Precondition: check_config(model, config) is empty. Throws LoweringRefusal.
[[nodiscard]] LoweredModel lower_model(const ModelSpec& model, const ParallelConfig& config, const GraphFormats& formats);

}  // namespace shardplan
