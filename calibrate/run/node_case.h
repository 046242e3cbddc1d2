// One thing to measure: a node of a step graph, at the shape that a plan gives it.
//
// Equal shapes are measured once. FLOPs and bytes are those that the price counts for the busiest rank; `ranks` is how many
// ranks of the stage run it at the same time, which on a host share memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/run/drawn_routing.h"
#include "costmodel/batch.h"
#include "costmodel/parallel_config.h"
#include "costmodel/step_graph.h"
#include "models/model_spec.h"

namespace shardplan {

struct NodeCase {
  std::string kind;        // family_name, or collective_name
  std::string format;      // of the weights or the cache; "" where it does not matter
  std::string op;          // of small operations what they are ("norm"); otherwise empty
  std::vector<std::pair<std::string, std::int64_t>> shape;   // "m", "n", "k", "batch", ... in this order
  double flops = 0;
  double bytes = 0;        // read and written; of collectives sent by the busiest rank
  std::int64_t ranks = 1;
  std::shared_ptr<const StepGraph> graph;
  std::size_t node = 0;
  RaggedBatch batch;
  // Of a step with routed experts: where its tokens go, and on grouped products the experts that the measured rank holds.
  std::shared_ptr<const DrawnRouting> routing;
  std::int64_t first_expert = 0;

  // What a record of it begins with; equal for what is measured once.
  [[nodiscard]] std::string key() const;
};

// Steps whose shapes are wanted.
struct RunPlan {
  std::vector<ModelSpec> models;
  std::vector<ParallelConfig> configs;
  std::vector<BatchShape> shapes;
  std::vector<ExpertLoad> loads{ExpertLoad{}};   // that experts are measured under
};

// The op of a case or record of sampling that draws from the likeliest tokens; the step graph's own takes the likeliest.
inline constexpr const char* kDrawnSampling = "sample_top_p";

// Every node of every step that has something to do, each shape once, in the order of the plan; sampling twice, as the step graph
// has it and drawn. What a configuration cannot run (LoweringRefusal, illegal) is left out.
[[nodiscard]] std::vector<NodeCase> node_cases(const RunPlan& plan);

}  // namespace shardplan
