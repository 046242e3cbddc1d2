// The proof of a configuration: what its shards compute equals the unsharded model, and what travels equals what the
// graph claims.
//
// A proof lowers the model for the configuration and for one rank, and runs steps of both side by side, each with caches
// that live on, so that a prefill and the decode steps after it must agree on where cached rows lie. Decode steps embed the
// tokens that the step before sampled, each run its own.
//
// Where roundings matter (bf16; layers that make much of small differences) what is allowed is measured: beside the unsharded
// run go three of it that round otherwise at each store and follow its choices. A sharded value may differ from the unsharded
// one by twice what the three differ by at most, and by one rounding: the two runs have independent roundings as well, those of
// partial sums on the wire instead of dithered ones. Where that would be more than half of a tensor's largest value, its numbers are
// counted as unheld.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "calibrate/byte_check.h"
#include "calibrate/compare.h"
#include "calibrate/executor.h"
#include "calibrate/kernels/moe.h"
#include "costmodel/parallel_config.h"
#include "models/model_spec.h"

namespace shardplan {

struct ProofResult {
  Comparison values;
  ByteCheck bytes;
  double moved_bytes = 0;   // by all ranks
  void absorb(const ProofResult& other);
};

struct ProofOptions {
  std::uint64_t seed = 1;
  std::optional<int> kind;      // one layer of this kind alone; nullopt: embedding, all layers over pp stages, head
  bool invent_prefix = true;    // cached rows that no step has written are random
  Tamper* tamper = nullptr;     // spoils the sharded run
  Storage storage = Storage::kFp32;
  const Kernels* kernels = nullptr;         // of the sharded run; the reference always runs on the host's
  std::chrono::milliseconds timeout{10000};
  std::shared_ptr<Transport> transport;     // of the sharded run; nullptr: threads
  bool measured_tolerance = false;          // as bf16 has in any case
  bool crowd_experts = false;               // every token chooses the first experts: the others have none
};

// Graphs of a configuration, and the program that runs them.
struct LoweredProgram {
  std::vector<std::unique_ptr<StepGraph>> graphs;
  Program program;
};
// `kind` as in ProofOptions. Throws LoweringRefusal.
[[nodiscard]] LoweredProgram lower_program(const ModelSpec& model, const ParallelConfig& config, StepForm form, std::optional<int> kind);

// Vectors that are brought to unit length, as recurrent layers do, make more of the rounding before: their tolerance is measured.
[[nodiscard]] bool has_recurrent(const ModelSpec& model);

class Proof {
 public:
  // Precondition: check_config is empty.
  Proof(const ModelSpec& model, const ParallelConfig& config, const ProofOptions& options);

  // Runs one forward of both. InternalError when a rank fails; LoweringRefusal when the table has no graph.
  ProofResult step(StepForm form, const RaggedBatch& batch);
  // Later steps run under another configuration of as many ranks and stages, over the same caches.
  void change_config(const ParallelConfig& config) { config_ = config; }

 private:
  ModelSpec model_;
  ParallelConfig config_;
  ProofOptions options_;
  std::shared_ptr<ChoiceLog> choices_;        // of the unsharded run, which the sharded one follows
  std::shared_ptr<TokenGroups> sharing_;      // of the sharded run, for the unsharded ones
  std::shared_ptr<TokenBook> sharded_tokens_;
  std::shared_ptr<TokenBook> whole_tokens_;
  Executor sharded_;
  Executor whole_;
  std::vector<std::unique_ptr<Executor>> dithered_;   // the unsharded run with other roundings
};

// One step of one lowered graph against the same logical graph lowered for one rank.
struct GraphPair {
  const StepGraph& sharded;
  const StepGraph& whole;
};
[[nodiscard]] ProofResult prove(const GraphPair& graphs, const RaggedBatch& batch, const ProofOptions& options);

// One layer, one step.
struct ProofCase {
  const ModelSpec& model;
  int kind = 0;
  ParallelConfig config;
  StepForm form = StepForm::kDecode;
  RaggedBatch batch;
};
[[nodiscard]] ProofResult prove(const ProofCase& proof_case, std::uint64_t seed);

}  // namespace shardplan
