#include "calibrate/executor.h"

#include <memory>
#include <utility>

#include "base/errors.h"
#include "calibrate/graph_plan.h"
#include "calibrate/nodes/node_table.h"

namespace shardplan {
namespace {

// Runs one rank's share of a program.
class RankRunner {
 public:
  RankRunner(Endpoint& endpoint, CacheStore& cache, const TensorSource& source, bool invent_prefix, int ranks)
      : endpoint_(endpoint), cache_(cache), source_(source), invent_prefix_(invent_prefix), ranks_(ranks),
        stage_(endpoint.rank() / ranks), rank_(endpoint.rank() % ranks) {}

  std::vector<LocalArray> run(const GraphPlan& plan, std::int64_t layer, int step) {
    RankState state{plan, source_, endpoint_, cache_, layer, rank_, stage_ * ranks_, invent_prefix_, {}};
    state.values.resize(plan.graph.values.size());
    if (plan.graph.residual_in >= 0) take_residual(state, step);
    for (std::size_t i = 0; i < plan.graph.nodes.size(); ++i) {
      const Node& node = plan.graph.nodes[i];
      const bool computes = node.kind == NodeKind::kCompute;
      endpoint_.begin({step, static_cast<int>(i), computes ? plan.graph.op_of(node).name : node_kind_name(node.kind)});
      node_function(node.kind)(state, node);
    }
    if (plan.graph.residual_out >= 0) {
      residual_ = state.value(plan.graph.residual_out);
      residual_value_ = plan.graph.residual_out;
      last_ = &plan;
      last_step_ = step;
    }
    return std::move(state.values);
  }

  // To the same rank of the next stage, padded to the largest part.
  void pass_on() {
    ensure(last_ != nullptr, "a stage without a residual stream has nothing to send");
    endpoint_.begin({last_step_, -1, "send"});
    const std::int64_t part = last_->layouts.largest(residual_value_);
    std::vector<float> padded = residual_.values;
    padded.resize(static_cast<std::size_t>(part), 0.0F);
    endpoint_.send(endpoint_.rank() + ranks_, {std::move(padded), {}}, part, last_->graph.tensor_of(residual_value_).format->bytes_per_element());
  }

 private:
  void take_residual(RankState& state, int step) {
    const ValueId id = state.graph().residual_in;
    LocalArray x = state.shaped(id);
    if (last_ != nullptr) {
      if (residual_.dims != x.dims) throw InternalError("the residual stream is placed differently in two graphs");
      x = residual_;
    } else if (stage_ > 0) {
      endpoint_.begin({step, -1, "receive"});
      x.values = endpoint_.receive(endpoint_.rank() - ranks_).values;
      ensure(static_cast<std::int64_t>(x.values.size()) >= x.elements(), "a message of another size than the graph says");
      x.values.resize(static_cast<std::size_t>(x.elements()));
    } else {
      x = source_.cut(state.graph().logical, state.graph().value(id).tensor, state.layer, x.dims);
    }
    state.set(id, std::move(x));
  }

  Endpoint& endpoint_;
  CacheStore& cache_;
  const TensorSource& source_;
  bool invent_prefix_;
  int ranks_;
  int stage_;
  int rank_;
  LocalArray residual_;
  ValueId residual_value_ = -1;
  int last_step_ = -1;
  const GraphPlan* last_ = nullptr;   // graph that `residual_` came from
};

}  // namespace

Executor::Executor(int stages, int ranks_per_stage, ExecutorOptions options)
    : stages_(stages), ranks_(ranks_per_stage), options_(options), source_(options.seed), caches_(static_cast<std::size_t>(stages * ranks_per_stage)) {}

RunResult Executor::run(const Program& program, const RaggedBatch& batch) {
  ensure(static_cast<int>(program.stages.size()) == stages_, "a program has the executor's stages");
  RunResult result;
  std::vector<std::unique_ptr<GraphPlan>> plans;
  std::vector<int> first_step;
  for (int stage = 0; stage < stages_; ++stage) {
    first_step.push_back(static_cast<int>(plans.size()));
    for (const StageGraph& g : program.stages[static_cast<std::size_t>(stage)]) {
      ensure(g.graph->mesh.ranks() == ranks_, "a graph's mesh has the executor's ranks");
      plans.push_back(std::make_unique<GraphPlan>(*g.graph, batch));
      result.graphs.push_back({g.graph, stage, std::vector<std::vector<LocalArray>>(static_cast<std::size_t>(ranks_))});
    }
  }
  Communicator communicator(stages_ * ranks_, options_.communicator);
  result.traffic = communicator.run([&](Endpoint& endpoint) {
    const int stage = endpoint.rank() / ranks_;
    RankRunner runner(endpoint, caches_[static_cast<std::size_t>(endpoint.rank())], source_, options_.invent_prefix, ranks_);
    int step = first_step[static_cast<std::size_t>(stage)];
    for (const StageGraph& g : program.stages[static_cast<std::size_t>(stage)]) {
      const auto at = static_cast<std::size_t>(step);
      result.graphs[at].values[static_cast<std::size_t>(endpoint.rank() % ranks_)] = runner.run(*plans[at], g.layer, step);
      ++step;
    }
    if (stage + 1 < stages_) runner.pass_on();
  });
  return result;
}

}  // namespace shardplan
