#include "calibrate/rank_runner.h"

#include <algorithm>

#include "base/errors.h"
#include "calibrate/nodes/node_table.h"
#include "costmodel/traffic.h"

namespace shardplan {
namespace {

// Tokens of a routed value on a rank if they were spread evenly, as the ledger takes them to be.
std::int64_t even_tokens(const RankState& state, ValueId id) {
  Placement placement = state.graph().value(id).placement;
  for (Digit d = 0; d < state.graph().mesh.digit_count(); ++d) {
    if (placement.routed.contains(d)) placement.append(Dim::kTokens, {d}, Layout::kContiguous);
  }
  placement.routed = DigitSet();
  return evaluate_exactly(ragged_symbol(state.graph(), state.graph().tensor_of(id), placement), state.graph().mesh, state.plan.batch);
}

double declared_bytes(const RankState& state, ValueId id) {
  const LocalArray& array = state.value(id);
  if (array.dims.empty()) return 0;
  const auto tokens = static_cast<std::int64_t>(array.dims.front().ids.size());
  if (!state.graph().value(id).placement.routed.empty() && tokens > 0) {
    return static_cast<double>(array.elements() / tokens * even_tokens(state, id)) * state.bytes_per_element(id);
  }
  const std::int64_t rows = array.lse.empty() ? 0 : array.rows();
  return static_cast<double>(array.elements()) * state.bytes_per_element(id) + static_cast<double>(rows * kLseBytes);
}

// Whether an engine does the node in place, so that input and output are one buffer.
bool is_in_place(const StepGraph& graph, const Node& node) {
  if (node.kind == NodeKind::kSlice) return true;
  if (node.kind != NodeKind::kCompute) return false;
  const OpKind kind = graph.op_of(node).kind;
  return kind == OpKind::kSplit || kind == OpKind::kPrefix || kind == OpKind::kJoin || kind == OpKind::kAdd || kind == OpKind::kRotary ||
         kind == OpKind::kLast;
}

bool is_live_activation(const RankState& state, ValueId id) {
  return state.graph().tensor_of(id).lifetime == Lifetime::kActivation && !state.graph().value(id).streamed;
}

}  // namespace

void HeldBytes::absorb(const HeldBytes& other) {
  weights = std::max(weights, other.weights);
  cache = std::max(cache, other.cache);
  activations = std::max(activations, other.activations);
}

RankRunner::RankRunner(Endpoint& endpoint, const RankContext& context, RankRunnerOptions options)
    : endpoint_(endpoint), context_(context), options_(options), stage_(endpoint.rank() / options.ranks), rank_(endpoint.rank() % options.ranks) {}

void RankRunner::run_node(RankState& state, std::size_t index, int step) {
  const Node& node = state.graph().nodes[index];
  const bool computes = node.kind == NodeKind::kCompute;
  endpoint_.begin({step, static_cast<int>(index), computes ? state.graph().op_of(node).name : node_kind_name(node.kind)});
  if (!computes) {
    for (const ValueId id : node.inputs) state.gathered(id);
  }
  node_function(node.kind)(state, node);
}

// After a node: what is live is what was computed and will still be read; an input of a node in place is its output.
void RankRunner::count_live(const RankState& state, std::size_t index) {
  const auto& last = state.plan.last_reader;
  const Node& node = state.graph().nodes[index];
  const bool in_place = is_in_place(state.graph(), node);
  const auto unread_output = [&](ValueId id) { return std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end(); };
  double live = 0;
  for (std::size_t v = 0; v < last.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    const bool read_later = last[v] > index || unread_output(id);
    if (is_live_activation(state, id) && (read_later || !in_place)) live += declared_bytes(state, id);
  }
  held_.activations = std::max(held_.activations, live);
}

std::vector<LocalArray> RankRunner::run(const GraphPlan& plan, std::int64_t layer, int step) {
  RankState state{.plan = plan, .context = context_, .endpoint = endpoint_, .layer = layer, .rank = rank_, .first_rank = stage_ * options_.ranks,
                  .invent_prefix = options_.invent_prefix, .stores_before = stores_, .values = {}};
  state.values.resize(plan.graph.values.size());
  if (plan.graph.residual_in >= 0) take_residual(state, step);
  for (std::size_t i = 0; i < plan.graph.nodes.size(); ++i) {
    run_node(state, i, step);
    if (options_.count_live) count_live(state, i);
    if (!options_.drop_dead) continue;
    for (const ValueId id : plan.dead_after[i]) state.values[static_cast<std::size_t>(id)] = LocalArray();
  }
  if (!options_.drop_dead) {
    for (std::size_t id = 0; id < state.values.size(); ++id) state.gathered(static_cast<ValueId>(id));
  }
  stores_ += static_cast<std::int64_t>(plan.graph.nodes.size());
  if (plan.graph.residual_out >= 0) keep_residual(state, plan, step);
  return std::move(state.values);
}

void RankRunner::keep_residual(const RankState& state, const GraphPlan& plan, int step) {
  residual_ = state.value(plan.graph.residual_out);
  residual_value_ = plan.graph.residual_out;
  last_ = &plan;
  last_step_ = step;
}

void RankRunner::pass_on() {
  ensure(last_ != nullptr, "a stage without a residual stream has nothing to send");
  endpoint_.begin({last_step_, -1, "send"});
  const std::int64_t part = last_->layouts.largest(residual_value_);
  std::vector<float> padded = residual_.values;
  padded.resize(static_cast<std::size_t>(part), 0.0F);
  const double bytes = last_->graph.tensor_of(residual_value_).format->bytes_per_element();
  endpoint_.send(endpoint_.rank() + options_.ranks, {std::move(padded)}, part, bytes);
}

void RankRunner::take_residual(RankState& state, int step) {
  const ValueId id = state.graph().residual_in;
  LocalArray x = state.shaped(id);
  if (last_ != nullptr) {
    if (residual_.dims != x.dims) throw InternalError("the residual stream is placed differently in two graphs");
    x = residual_;
  } else if (stage_ > 0) {
    endpoint_.begin({step, -1, "receive"});
    x.values = endpoint_.receive(endpoint_.rank() - options_.ranks).values;
    ensure(static_cast<std::int64_t>(x.values.size()) >= x.elements(), "a message of another size than the graph says");
    x.values.resize(static_cast<std::size_t>(x.elements()));
  } else {
    x = context_.source.cut(state.graph().logical, state.graph().value(id).tensor, state.layer, x.dims);
  }
  state.set(id, std::move(x));
}

}  // namespace shardplan
