#include "calibrate/byte_check.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "calibrate/kernels/moe.h"
#include "calibrate/layouts.h"
#include "costmodel/traffic.h"

namespace shardplan {
namespace {

using Ids = std::vector<std::int64_t>;

bool holds(const Ids& ids, std::int64_t id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

// Tokens between the ranks that keep them and the ranks of their experts, from the routing that occurred.
class RoutedRows {
 public:
  RoutedRows(const ByteCheckRequest& request, const StepGraph& graph, const Node& node) : graph_(graph), batch_(request.batch), node_(node) {
    const Node& computes = *std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) {
      return n.kind == NodeKind::kCompute && n.op == node.op;
    });
    weight_ = computes.weights.front();
    for (const Node& n : request.whole.graph->nodes) {
      if (n.kind == NodeKind::kCompute && n.op == node.op) routing_ = &request.whole.values[0][static_cast<std::size_t>(n.inputs[1])];
    }
    ensure(routing_ != nullptr, "the run on one rank has no experts");
  }

  // Rows that go from the tokens kept on `home` to the experts on `expert_rank`.
  [[nodiscard]] std::int64_t between(int home, int expert_rank) const {
    const ValueId kept = node_.kind == NodeKind::kDispatch ? node_.inputs[0] : node_.outputs[0];
    const Ids tokens = local_dims(graph_, batch_, kept, home).front().ids;
    const Ids experts = LocalArray(local_dims(graph_, batch_, weight_, expert_rank)).ids(Dim::kExperts);
    const auto rows = offsets_of(routing_->dims, {{Dim::kTokens, tokens}}, "routing");
    std::int64_t count = 0;
    for (const std::int64_t row : rows) {
      bool goes = false;
      for (std::int64_t j = 0; j < routing_->columns(); ++j) {
        goes = goes || holds(experts, static_cast<std::int64_t>(routing_->values[(row + j) * kRoutingWidth]));
      }
      count += goes ? 1 : 0;
    }
    return count;
  }

  [[nodiscard]] double bytes_of_rank(int rank) const {
    const bool dispatch = node_.kind == NodeKind::kDispatch;
    std::int64_t rows = 0;
    for (const int peer : graph_.mesh.group_of(rank, node_.group)) {
      if (peer != rank) rows += dispatch ? between(rank, peer) : between(peer, rank);
    }
    return static_cast<double>(rows) * row_bytes(dispatch);
  }

 private:
  [[nodiscard]] double row_bytes(bool dispatch) const {
    const Tensor& x = graph_.tensor_of(dispatch ? node_.outputs[0] : node_.inputs[0]);
    double bytes = static_cast<double>(x.dims.back().extent) * element_bytes(x);
    if (!dispatch) return bytes;
    const Tensor& routing = graph_.tensor_of(node_.outputs[1]);
    return bytes + static_cast<double>(routing.extent(Dim::kRouted)) * element_bytes(routing);
  }

  const StepGraph& graph_;
  const RaggedBatch& batch_;
  const Node& node_;
  ValueId weight_ = -1;
  const LocalArray* routing_ = nullptr;
};

struct Counted {
  const Traffic& traffic;
  int step;
  [[nodiscard]] double bytes(int node) const {
    const auto it = traffic.find({step, node});
    return it == traffic.end() ? 0.0 : it->second.bytes;
  }
};

void hold_against(ByteCheck& check, double claimed, double moved, const std::string& where) {
  ++check.checks;
  if (claimed > 0) ++check.nonzero;
  if (std::abs(claimed - moved) <= 1e-6 * std::max(1.0, claimed)) return;
  check.mismatches.push_back(where + ": the graph claims " + std::to_string(claimed) + " bytes, " + std::to_string(moved) + " moved");
}

}  // namespace

void ByteCheck::absorb(const ByteCheck& other) {
  checks += other.checks;
  nonzero += other.nonzero;
  mismatches.insert(mismatches.end(), other.mismatches.begin(), other.mismatches.end());
}

ByteCheck check_bytes(const ByteCheckRequest& request) {
  ByteCheck check;
  const GraphResult& result = request.run.graphs[static_cast<std::size_t>(request.step)];
  const StepGraph& graph = *result.graph;
  const auto ranks = static_cast<int>(graph.mesh.ranks());
  for (int rank = 0; rank < ranks; ++rank) {
    const Counted counted{request.run.traffic[static_cast<std::size_t>(result.stage * ranks + rank)], request.step};
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      if (!communicates(node.kind)) continue;
      const bool routed = node.kind == NodeKind::kDispatch || node.kind == NodeKind::kCombine;
      const double claimed = routed ? RoutedRows(request, graph, node).bytes_of_rank(rank) : sent_bytes(graph, node, request.batch);
      hold_against(check, claimed, counted.bytes(static_cast<int>(i)),
                   std::string(node_kind_name(node.kind)) + " of " + graph.tensor_of(node.inputs[0]).name + ", rank " + std::to_string(rank));
    }
    if (!request.boundary) continue;
    const Node send{NodeKind::kSend, -1, {graph.residual_out}, {}, {}, {}};
    hold_against(check, sent_bytes(graph, send, request.batch), counted.bytes(-1), "stage boundary, rank " + std::to_string(rank));
  }
  return check;
}

}  // namespace shardplan
