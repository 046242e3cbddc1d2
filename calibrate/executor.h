// Runs lowered step graphs rank by rank: the proof that shards add up, and the steps that are timed.
//
// Reads the graphs only and knows no strategy. One instance of pp stages x mesh ranks runs as threads, or as processes
// where the transport says so; each stage walks its graphs in order (embedding, layers, head) and hands the residual stream
// to the same rank of the next. Caches and weights live as long as the executor, so that prefill and decode steps meet in them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "calibrate/cache_store.h"
#include "calibrate/choice_log.h"
#include "calibrate/communicator.h"
#include "calibrate/kernels/kernels.h"
#include "calibrate/local_array.h"
#include "calibrate/run/stopping_rule.h"
#include "calibrate/tensor_source.h"
#include "calibrate/token_book.h"
#include "calibrate/weight_store.h"
#include "costmodel/step_graph.h"

namespace shardplan {

struct RankContext;

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
  std::vector<std::vector<LocalArray>> values;   // [rank][ValueId]; without dims: never computed, or a weight
};

struct RunResult {
  std::vector<GraphResult> graphs;
  std::vector<Traffic> traffic;                  // [stage * ranks + rank]; step = index into graphs, node -1: stage boundary
};

// A rank's bytes while it ran a step, in the formats that its tensors declare, whatever the executor stores them in.
struct HeldBytes {
  double weights = 0;
  double cache = 0;          // states of recurrent layers included
  double activations = 0;    // the most that were live at once

  void absorb(const HeldBytes& other);   // the larger of each
};

// Several runs of one step, values dropped as soon as nobody reads them.
struct TimedRun {
  std::vector<Sample> samples;   // of each repetition: the slowest rank's
  HeldBytes held;                // of the fullest rank
};

struct ExecutorOptions {
  std::uint64_t seed = 1;
  bool invent_prefix = false;   // cached rows that no step has written are random instead of an error
  Storage storage = Storage::kFp32;
  const Kernels* kernels = nullptr;   // nullptr: the host's
  std::shared_ptr<ChoiceLog> record;         // takes the choices of every run
  std::shared_ptr<const ChoiceLog> follow;   // choices that every run follows
  std::shared_ptr<ChoiceLog> widen;          // takes what following costs, and lets it pass
  std::shared_ptr<const TokenBook> tokens; // what decode steps embed
  bool crowd_experts = false;              // every token chooses the first experts: the others have none
  std::shared_ptr<const std::map<std::int64_t, int>> sharing;   // by token: which tokens share experts (capacity factor); nullptr: all of a rank
  std::uint64_t dither = 0;                // not 0: seed of roundings otherwise than to the nearest
  CommunicatorOptions communicator;
};

class Executor {
 public:
  Executor(int stages, int ranks_per_stage, ExecutorOptions options);

  // Every value of every rank, on every process. Throws InternalError with the first failing rank and what it was doing.
  RunResult run(const Program& program, const RaggedBatch& batch);
  // The same step `repeats` times over the same caches.
  TimedRun run_timed(const Program& program, const RaggedBatch& batch, int repeats);

 private:
  struct Prepared;
  [[nodiscard]] Prepared prepare(const Program& program, const RaggedBatch& batch) const;
  [[nodiscard]] RankContext context_of(int rank);

  int stages_;
  int ranks_;
  ExecutorOptions options_;
  TensorSource source_;
  std::vector<CacheStore> caches_;     // by communicator rank
  std::vector<WeightStore> weights_;
  std::vector<Dither> dithers_;        // by communicator rank, or empty
};

}  // namespace shardplan
