// A configuration lowered once: the step graphs of one stage's parts, and how layers fall to stages.
//
// Graphs do not depend on the pipeline split or the number of replicas, so that a search lowers once per table of
// placements and reuses it. With pcp = 1 one mixed graph serves decode, prefill and mixed steps (a phase without
// tokens costs nothing); with pcp > 1 prefill and decode place tokens differently and never share a step.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "costmodel/lowering/registry.h"
#include "costmodel/lower.h"
#include "costmodel/parallel_config.h"
#include "costmodel/step_graph.h"
#include "models/model_spec.h"

namespace shardplan {

// The MTP modules that draft, on the last stage: module m makes the m-th drafted token, and beyond the last module they
// start over. Their layers and heads are lowered like the model's; embedding and head are the model's tables.
struct DraftGraphs {
  StepGraph entry;
  std::vector<StepGraph> layers;                     // distinct ones
  std::vector<std::size_t> kinds;                    // of each: its place in ModelSpec::mtp_layers
  StepGraph head;                                    // one token of each request
  std::vector<std::vector<std::size_t>> modules;     // of each module that is used: its layers, in order
};

struct StageGraphs {
  StepForm form = StepForm::kMixed;
  StepGraph embedding;
  std::vector<StepGraph> layers;    // by layer kind
  StepGraph head;
  StepGraph boundary;               // one send of the residual stream to the next stage
  std::optional<DraftGraphs> draft; // of a configuration with speculative tokens
};

struct LoweredModel {
  std::vector<StageGraphs> forms;   // {mixed}, or {decode, prefill}
  std::int64_t drafts = 0;          // tokens drafted per sequence and step
  [[nodiscard]] const StageGraphs& serving(Phase phase) const;   // the graphs that run decode or prefill tokens
  [[nodiscard]] bool mixes() const { return forms.size() == 1; }
};

// Precondition: check_config(model, config) is empty. Throws LoweringRefusal.
[[nodiscard]] LoweredModel lower_model(const ModelSpec& model, const ParallelConfig& config, const GraphFormats& formats);

}  // namespace shardplan
