// Everything one rank has in hand while it walks a step graph.
#pragma once

#include <vector>

#include "calibrate/cache_store.h"
#include "calibrate/communicator.h"
#include "calibrate/choice_log.h"
#include "calibrate/graph_plan.h"
#include "calibrate/kernels/kernels.h"
#include "calibrate/kernels/moe.h"
#include "calibrate/kernels/sampler.h"
#include "calibrate/local_array.h"
#include "calibrate/storage.h"
#include "calibrate/tamper.h"
#include "calibrate/tensor_source.h"
#include "calibrate/token_book.h"
#include "calibrate/weight_store.h"

namespace shardplan {

// What lasts longer than a graph.
struct RankContext {
  const TensorSource& source;
  const Kernels& kernels;
  CacheStore& cache;
  WeightStore& weights;
  Storage storage = Storage::kFp32;
  ChoiceLog* record = nullptr;         // takes what this run chooses
  const ChoiceLog* follow = nullptr;   // choices to follow
  ChoiceLog* widen = nullptr;          // takes what following costs, and lets it pass
  const TokenBook* tokens = nullptr; // sampled by earlier steps
  Dither* dither = nullptr;          // rounds otherwise than to the nearest
  bool crowd_experts = false;        // every token chooses the first experts
  const TokenGroups* sharing = nullptr;   // which tokens share experts, where not all that a rank holds do
  Tamper* tamper = nullptr;
  const SamplerSettings* sampler = nullptr;   // nullptr: the likeliest token, as proofs need it
};

struct RankState {
  const GraphPlan& plan;
  const RankContext& context;
  Endpoint& endpoint;
  std::int64_t layer = 0;
  int rank = 0;                  // within the stage
  int first_rank = 0;            // communicator rank of the stage's rank 0
  bool invent_prefix = false;    // cached rows that no step has written come from the source
  std::int64_t stores_before = 0;   // stores in a row before this graph
  std::vector<LocalArray> values;  // by ValueId; empty until computed

  [[nodiscard]] const StepGraph& graph() const { return plan.graph; }
  [[nodiscard]] const LocalArray& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  void set(ValueId id, LocalArray array);
  // A value of a cache is read from the store when somebody asks for its numbers.
  const LocalArray& gathered(ValueId id);
  [[nodiscard]] CacheName cache_name(ValueId cache) const { return {layer, graph().tensor_of(cache).name}; }
  // Whether this rank is the first along each of the digits: the one that adds what must be added once.
  [[nodiscard]] bool is_first(DigitSet digits) const;
  // Zeros in the layout that the graph gives this rank.
  [[nodiscard]] LocalArray shaped(ValueId id) const;
  // Ranks of the group, this one included, ascending.
  [[nodiscard]] std::vector<int> group(const Node& node) const { return graph().mesh.group_of(rank, node.group); }
  [[nodiscard]] const NodePlan& node_plan(const Node& node) const {
    return plan.nodes[static_cast<std::size_t>(&node - graph().nodes.data())];
  }
  [[nodiscard]] double bytes_per_element(ValueId id) const { return graph().tensor_of(id).format->bytes_per_element(); }

  // Values are rounded on the way out as they would be in their format; a log-sum-exp is fp32 always.
  void send(int to, Message message, std::int64_t elements, double element_bytes, Payload payload = Payload::kValues);
  [[nodiscard]] Message receive(int from) { return endpoint.receive(first_rank + from); }
};


}  // namespace shardplan
