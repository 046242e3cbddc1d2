#include "costmodel/lower.h"

#include <map>
#include <utility>

#include "base/errors.h"
#include "costmodel/conversion.h"
#include "costmodel/layers/admission.h"
#include "costmodel/op_rules.h"

namespace shardplan {
namespace {

class Lowering {
 public:
  Lowering(LogicalGraph graph, const Strategy& strategy, StepForm form) : strategy_(strategy) {
    out_.logical = std::move(graph);
    out_.mesh = strategy.mesh;
    out_.form = form;
    out_.cp_interleave = strategy.cp_interleave;
    out_.overlap = strategy.overlap;
    out_.overlap_parts = strategy.overlap_parts;
    out_.hop_b = strategy.hop_b;
    held_.resize(out_.logical.tensors.size());
  }

  StepGraph run() {
    const LogicalGraph& logical = out_.logical;
    if (logical.residual_in >= 0) out_.residual_in = hold(logical.residual_in, strategy_.residual);
    const auto count = static_cast<std::int32_t>(logical.ops.size());   // lowering adds some behind them
    for (std::int32_t i = 0; i < count; ++i) lower_op(i);
    if (logical.residual_out >= 0) out_.residual_out = as_placed(logical.residual_out, strategy_.residual, count - 1);
    return std::move(out_);
  }

 private:
  ValueId hold(TensorId tensor, Placement placement) {
    out_.values.push_back({tensor, std::move(placement), false});
    const auto id = static_cast<ValueId>(out_.values.size()) - 1;
    held_[static_cast<std::size_t>(tensor)].push_back(id);
    return id;
  }

  // The value of `tensor` to start from: created by the table for weights, caches and step inputs.
  ValueId latest(TensorId tensor) {
    auto& values = held_[static_cast<std::size_t>(tensor)];
    if (!values.empty()) return values.back();
    const Tensor& t = out_.logical.tensor(tensor);
    return hold(tensor, t.lifetime == Lifetime::kActivation ? step_input() : strategy_.place(t));
  }

  // Token ids reach every rank of a group that works on them: as the residual stream, but for flat splits.
  [[nodiscard]] Placement step_input() const {
    Placement placement = strategy_.residual;
    placement.shards.remove_if([](const Shard& shard) { return shard.layout == Layout::kContiguous; });
    return placement;
  }

  // A value of `tensor` placed as `need`: one that is there, one sliced from what is there, or converted.
  ValueId as_placed(TensorId tensor, const Placement& need, std::int32_t op) {
    latest(tensor);
    const auto values = held_[static_cast<std::size_t>(tensor)];
    for (const ValueId id : values) {
      if (out_.value(id).placement == need) return id;
    }
    ValueId source = values.back();
    for (const ValueId id : values) {
      if (is_local(out_.value(id).placement, need)) source = id;
    }
    return convert(source, need, op);
  }

  ValueId convert(ValueId source, const Placement& need, std::int32_t op) {
    const TensorId tensor = out_.value(source).tensor;
    const auto steps = conversion_steps(out_.value(source).placement, need, strategy_.exchange_lse, strategy_.mesh);
    ValueId now = source;
    for (const ConversionStep& step : steps) {
      const ValueId next = hold(tensor, step.to);
      out_.nodes.push_back({step.kind, op, {now}, {}, {next}, step.group});
      now = next;
    }
    return now;
  }

  void lower_op(std::int32_t index) {
    const LogicalOp& op = out_.logical.ops[static_cast<std::size_t>(index)];
    RuleInput input{out_.logical, op, strategy_, {}, {}};
    for (const TensorId id : op.inputs) input.have.push_back(out_.value(latest(id)).placement);
    ValueList weights;
    for (const TensorId id : op.weights) {
      weights.push_back(latest(id));
      input.weights.push_back(out_.value(weights.back()).placement);
    }
    ValueList biases;
    for (const TensorId id : op.biases) biases.push_back(id < 0 ? -1 : latest(id));
    RuleResult rule = op_rule(input);
    if (op.kind == OpKind::kExperts && strategy_.dispatch_experts) {
      lower_dispatched(index, rule, {weights, biases});
    } else if (ring_applies(op, input, rule)) {
      lower_ring(index, rule, weights);
    } else if (op.kind == OpKind::kIndex && !key_digits(rule).empty()) {
      lower_split_index(index, rule);
      return;   // ops were added: `op` is gone
    } else {
      Node node{NodeKind::kCompute, index, {}, std::move(weights), {}, {}, std::move(biases)};
      for (std::size_t i = 0; i < op.inputs.size(); ++i) node.inputs.push_back(as_placed(op.inputs[i], rule.need[i], index));
      emit(std::move(node), rule.out);
    }
    for (const TensorId id : op.outputs) apply_pins(id, index);
  }

  void emit(Node node, const std::vector<Placement>& placements) {
    const LogicalOp& op = out_.op_of(node);
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
      const bool in_place = out_.logical.tensor(op.outputs[i]).lifetime == Lifetime::kCache;
      node.outputs.push_back(in_place ? latest(op.outputs[i]) : hold(op.outputs[i], placements[i]));
    }
    out_.nodes.push_back(std::move(node));
  }

  // Tokens to the ranks of their experts, the experts there, partial results back.
  struct HeldWeights {
    ValueList weights;
    ValueList biases;
  };

  void lower_dispatched(std::int32_t index, const RuleResult& rule, const HeldWeights& held) {
    const LogicalOp op = out_.logical.ops[static_cast<std::size_t>(index)];
    const DigitSet group = out_.value(held.weights[0]).placement.sharded();
    const ValueId x = as_placed(op.inputs[0], rule.need[0], index);
    const ValueId routing = as_placed(op.inputs[1], rule.need[1], index);
    Placement routed = rule.need[0];
    routed.remove(group);
    routed.routed = group;
    const ValueId sent_x = hold_copy(op.inputs[0], "x_dispatched", routed, op.experts.dispatch_format);
    const ValueId sent_routing = hold_copy(op.inputs[1], "routing_dispatched", routed, nullptr);
    out_.nodes.push_back({NodeKind::kDispatch, index, {x, routing}, {}, {sent_x, sent_routing}, group});
    Placement partial = routed;
    partial.sum = group;
    const ValueId outcome = hold_copy(op.outputs[0], "experts_partial", partial, nullptr);
    out_.nodes.push_back({NodeKind::kCompute, index, {sent_x, sent_routing}, held.weights, {outcome}, {}, held.biases});
    const ValueId combined = hold(op.outputs[0], rule.out[0]);
    out_.nodes.push_back({NodeKind::kCombine, index, {outcome, routing}, {}, {combined}, group});
  }

  ValueId hold_copy(TensorId tensor, const char* name, Placement placement, const NumberFormat* format) {
    Tensor copy = out_.logical.tensor(tensor);
    copy.name = name;
    if (format != nullptr) copy.format = format;
    const TensorId id = out_.logical.add(std::move(copy));
    held_.emplace_back();
    return hold(id, std::move(placement));
  }

  // Digits that split the positions of an indexer's keys.
  static DigitList key_digits(const RuleResult& rule) {
    DigitList digits;
    for (const Shard& shard : rule.need.back().of(Dim::kPositions)) {
      if (shard.layout != Layout::kByRequest) digits.push_back(shard.digit);
    }
    return digits;
  }

  // Each rank scores its keys and names its best with their scores; all names are gathered, and the best of them chosen.
  void lower_split_index(std::int32_t index, const RuleResult& rule) {
    const LogicalOp op = out_.logical.ops[static_cast<std::size_t>(index)];
    const DigitList digits = key_digits(rule);
    Tensor candidates = out_.logical.tensor(op.outputs[0]);
    candidates.name = "index_candidates";
    candidates.format = &candidate_format();
    candidates.dims.back().extent = op.index.top_k / op.index.block * strategy_.mesh.size(digits);
    const TensorId id = out_.logical.add(std::move(candidates));
    held_.emplace_back();
    Placement named = rule.out[0];
    named.append(Dim::kSelected, digits, Layout::kContiguous);
    Node node{NodeKind::kCompute, index, {}, {}, {}, {}, {}};
    for (std::size_t i = 0; i < op.inputs.size(); ++i) node.inputs.push_back(as_placed(op.inputs[i], rule.need[i], index));
    node.outputs = {hold(id, named)};
    const ValueId own = node.outputs[0];
    out_.nodes.push_back(std::move(node));
    const ValueId all = convert(own, rule.out[0], index);
    LogicalOp choose{.kind = OpKind::kChoose, .name = "index_choose", .inputs = {id}, .weights = {}, .outputs = op.outputs};
    choose.index = op.index;
    out_.logical.op(std::move(choose));
    const auto last = static_cast<std::int32_t>(out_.logical.ops.size()) - 1;
    out_.nodes.push_back({NodeKind::kCompute, last, {all}, {}, {hold(op.outputs[0], rule.out[0])}, {}});
  }

  // Prefill attention whose fresh keys lie on other ranks, when the strategy pipelines their gathering.
  bool ring_applies(const LogicalOp& op, const RuleInput& input, const RuleResult& rule) const {
    return strategy_.ring_attention && op.attention.top_k == 0 && !op.attention.shared_kv && op.kind == OpKind::kAttention && op.attention.phase == Phase::kPrefill &&
           !(input.have[1].of(Dim::kTokens) == rule.need[1].of(Dim::kTokens));
  }

  void lower_ring(std::int32_t index, const RuleResult& rule, const ValueList& weights) {
    const LogicalOp op = out_.logical.ops[static_cast<std::size_t>(index)];
    Node node{NodeKind::kRingAttention, index, {as_placed(op.inputs[0], rule.need[0], index)}, weights, {}, {}};
    std::vector<ValueId> gathered;
    for (std::size_t i = 1; i < op.inputs.size(); ++i) {
      if (i > 2) {
        node.inputs.push_back(as_placed(op.inputs[i], rule.need[i], index));
        continue;
      }
      Placement local = rule.need[i];   // heads as needed, tokens where they are
      const Placement have = out_.value(latest(op.inputs[i])).placement;
      local.shards.remove_if([](const Shard& shard) { return shard.dim == Dim::kTokens; });
      for (const Shard& shard : have.of(Dim::kTokens)) local.shards.push_back(shard);
      node.inputs.push_back(as_placed(op.inputs[i], local, index));
      for (const Shard& shard : have.of(Dim::kTokens)) {
        if (rule.need[i].at(shard.digit) == nullptr) node.group.insert(shard.digit);
      }
      gathered.push_back(hold(op.inputs[i], rule.need[i]));
      out_.values.back().streamed = true;
    }
    node.outputs = {hold(op.outputs[0], rule.out[0]), gathered[0], gathered[1]};
    out_.nodes.push_back(std::move(node));
  }

  void apply_pins(TensorId tensor, std::int32_t op) {
    for (const PinRow& pin : strategy_.pins) {
      if (pin.name != out_.logical.tensor(tensor).name) continue;
      Placement target = out_.value(latest(tensor)).placement;
      const ShardList kept = pin.keep_request_split ? request_run(target, pin.dim) : ShardList{};
      target.shards.remove_if([&](const Shard& shard) { return shard.dim == pin.dim; });
      target.remove(DigitSet(pin.digits));
      target.shards.insert(target.shards.end(), kept.begin(), kept.end());
      target.append(pin.dim, pin.digits, pin.layout);
      convert(latest(tensor), target, op);
    }
  }

  const Strategy& strategy_;
  StepGraph out_;
  std::vector<std::vector<ValueId>> held_;   // values of each tensor, oldest first
};

}  // namespace

StepGraph lower(LogicalGraph graph, const Strategy& strategy, StepForm form) {
  if (strategy.capacity_factor_ratio > 0) graph = with_admission(std::move(graph), strategy.capacity_factor_ratio);
  return Lowering(std::move(graph), strategy, form).run();
}

}  // namespace shardplan
