// Runs lowered step graphs rank by rank, in fp32, on this machine: the proof that shards add up.
//
// Reads the graphs only and knows no strategy. One instance of pp stages x mesh ranks runs as threads; each stage walks its
// graphs in order (embedding, layers, head) and hands the residual stream to the same rank of the next. Caches live as
// long as the executor, so that prefill and decode steps meet in them.
#pragma once

#include <cstdint>
#include <vector>

#include "calibrate/cache_store.h"
#include "calibrate/communicator.h"
#include "calibrate/local_array.h"
#include "calibrate/tensor_source.h"
#include "costmodel/step_graph.h"

namespace shardplan {

// One graph of a stage; `layer` names its weights and caches.
struct StageGraph {
  const StepGraph* graph = nullptr;
  std::int64_t layer = 0;
};

// One forward: the graphs of each stage. All meshes have equally many ranks.
struct Program {
  std::vector<std::vector<StageGraph>> stages;
};

// What each rank ended with, graph by graph, stages in order.
struct GraphResult {
  const StepGraph* graph = nullptr;
  int stage = 0;
  std::vector<std::vector<LocalArray>> values;   // [rank][ValueId]; without dims: never computed
};

struct RunResult {
  std::vector<GraphResult> graphs;
  std::vector<Traffic> traffic;                  // [stage * ranks + rank]; step = index into graphs, node -1: stage boundary
};

struct ExecutorOptions {
  std::uint64_t seed = 1;
  bool invent_prefix = false;   // cached rows that no step has written are random instead of an error
  CommunicatorOptions communicator;
};

class Executor {
 public:
  Executor(int stages, int ranks_per_stage, ExecutorOptions options);

  // Throws InternalError with the first failing rank and what it was doing.
  RunResult run(const Program& program, const RaggedBatch& batch);

 private:
  int stages_;
  int ranks_;
  ExecutorOptions options_;
  TensorSource source_;
  std::vector<CacheStore> caches_;   // by communicator rank
};

}  // namespace shardplan
