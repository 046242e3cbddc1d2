// Everything one rank has in hand while it walks a step graph.
#pragma once

#include <vector>

#include "calibrate/cache_store.h"
#include "calibrate/communicator.h"
#include "calibrate/graph_plan.h"
#include "calibrate/local_array.h"
#include "calibrate/tensor_source.h"

namespace shardplan {

struct RankState {
  const GraphPlan& plan;
  const TensorSource& source;
  Endpoint& endpoint;
  CacheStore& cache;
  std::int64_t layer = 0;
  int rank = 0;                  // within the stage
  int first_rank = 0;            // communicator rank of the stage's rank 0
  bool invent_prefix = false;    // cached rows that no step has written come from `source`
  std::vector<LocalArray> values;  // by ValueId; empty until computed

  [[nodiscard]] const StepGraph& graph() const { return plan.graph; }
  [[nodiscard]] const LocalArray& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  void set(ValueId id, LocalArray array) { values[static_cast<std::size_t>(id)] = std::move(array); }
  // Zeros in the layout that the graph gives this rank.
  [[nodiscard]] LocalArray shaped(ValueId id) const;
  // Ranks of the group, this one included, ascending.
  [[nodiscard]] std::vector<int> group(const Node& node) const { return graph().mesh.group_of(rank, node.group); }
  [[nodiscard]] const NodePlan& node_plan(const Node& node) const {
    return plan.nodes[static_cast<std::size_t>(&node - graph().nodes.data())];
  }
  [[nodiscard]] double bytes_per_element(ValueId id) const { return graph().tensor_of(id).format->bytes_per_element(); }

  void send(int to, Message message, std::int64_t elements, double element_bytes, Payload payload = Payload::kValues) {
    endpoint.send(first_rank + to, std::move(message), elements, element_bytes, payload);
  }
  [[nodiscard]] Message receive(int from) { return endpoint.receive(first_rank + from); }
};

inline constexpr double kLseBytes = 4.0;  // always fp32

}  // namespace shardplan
