// Logical operations on this rank's shards: each fetches its operands and calls its kernel.
#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_set>

#include "base/errors.h"
#include "calibrate/kernels/chooser.h"
#include "calibrate/kernels/compress.h"
#include "calibrate/kernels/elementwise.h"
#include "calibrate/kernels/index.h"
#include "calibrate/kernels/moe.h"
#include "calibrate/kernels/norm.h"
#include "calibrate/kernels/scan.h"
#include "calibrate/kernels/streams.h"
#include "calibrate/kernels/vocabulary.h"
#include "calibrate/nodes/attention_task.h"
#include "calibrate/nodes/node_table.h"
#include "calibrate/nodes/operand.h"
#include "calibrate/token_id.h"

namespace shardplan {
namespace {

// The bias of the i-th weight, or nullptr.
const LocalArray* bias_of(RankState& state, const Node& node, std::size_t i) {
  return i < node.biases.size() && node.biases[i] >= 0 ? &operand(state, node.biases[i]) : nullptr;
}

std::int64_t carry_of(const RankState& state, const Node& node, std::size_t index) {
  const auto& carry = state.graph().op_of(node).carry;
  return index < carry.size() ? carry[index] : 0;
}

bool is_of_this_step(const RankState& state, std::int64_t id) {
  for (const RequestSlice& slice : state.plan.batch.requests) {
    if (slice.request == request_of(id)) return position_of(id) >= slice.prefix;
  }
  return false;
}

// Where tests start from a cache that no step has written. A row of this very step is never made up.
void invent_rows(RankState& state, ValueId cache, const LocalDims& dims) {
  if (!state.invent_prefix) return;
  LocalDims missing = dims;
  std::erase_if(missing.front().ids, [&](std::int64_t id) {
    return is_of_this_step(state, id) || state.context.cache.has(state.cache_name(cache), id);
  });
  const TensorId tensor = state.graph().value(cache).tensor;
  state.context.cache.put(state.cache_name(cache), state.context.source.cut(state.graph().logical, tensor, state.layer, missing));
}

// Tokens of decode steps are what the step before sampled; the rest is random.
LocalArray step_tokens(const RankState& state, const LocalDims& dims, std::int64_t vocab) {
  LocalArray tokens = state.context.source.token_ids(dims, vocab);
  if (state.context.tokens == nullptr) return tokens;
  std::unordered_set<std::int64_t> decoding;
  for (const RequestSlice& slice : state.plan.batch.requests) {
    if (slice.phase == Phase::kDecode) decoding.insert(slice.request);
  }
  const auto& ids = dims.front().ids;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (decoding.contains(request_of(ids[i]))) tokens.values[i] = state.context.tokens->at(ids[i], tokens.values[i]);
  }
  return tokens;
}

void compute_embed(RankState& state, const Node& node) {
  const std::int64_t vocab = state.graph().tensor_of(node.weights[0]).extent(Dim::kVocab);
  const auto& dims = state.plan.layouts.at(node.inputs[0], state.rank);
  const LocalArray& held = state.value(node.inputs[0]);
  const LocalArray ids = held.dims.empty() ? step_tokens(state, dims, vocab) : held;
  LocalArray out = state.shaped(node.outputs[0]);
  embed(ids, operand(state, node.weights[0]), out);
  state.set(node.outputs[0], std::move(out));
}

void compute_norm(RankState& state, const Node& node) {
  LocalArray out = state.shaped(node.outputs[0]);
  const LocalArray& x = operand(state, node.inputs[0]);
  const LocalArray& weight = operand(state, node.weights[0]);
  if (node.inputs.size() > 1) {
    const Tensor& tensor = state.graph().tensor_of(node.inputs[0]);
    std::int64_t width = 1;
    for (std::size_t d = 1; d < tensor.dims.size(); ++d) width *= tensor.dims[d].extent;
    norm_by_squares(x, operand(state, node.inputs[1]), state.graph().op_of(node).squares_column, width, weight, out);
  } else {
    state.context.kernels.rms_norm(x, weight, carry_of(state, node, 0), out);
  }
  state.set(node.outputs[0], std::move(out));
}

// Heads that lie on several ranks of the sum count for their share on each.
void compute_squares(RankState& state, const Node& node) {
  LocalArray out = state.shaped(node.outputs[0]);
  const auto ranks = static_cast<double>(state.graph().mesh.size(state.graph().value(node.outputs[0]).placement.sum));
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Tensor& tensor = state.graph().tensor_of(node.inputs[i]);
    const DimExtent heads = tensor.dims[1];
    const std::int64_t parts = state.graph().mesh.size(state.graph().value(node.inputs[i]).placement.digits(heads.dim));
    const double share = static_cast<double>(std::min(parts, heads.extent)) / ranks;
    add_squares(operand(state, node.inputs[i]), static_cast<float>(share), static_cast<std::int64_t>(i), out);
  }
  state.set(node.outputs[0], std::move(out));
}

void compute_matmul(RankState& state, const Node& node) {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    LocalArray out = state.shaped(node.outputs[i]);
    state.context.kernels.matmul(operand(state, node.inputs[0]), operand(state, node.weights[i]), carry_of(state, node, i), out);
    const LocalArray* bias = bias_of(state, node, i);
    const bool once = state.is_first(state.graph().value(node.outputs[i]).placement.sum);
    if (bias != nullptr && once) add(LocalArray(out), *bias, out);
    state.set(node.outputs[i], std::move(out));
  }
}

void compute_rotary(RankState& state, const Node& node) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    LocalArray out = state.shaped(node.outputs[i]);
    state.context.kernels.rotary(operand(state, node.inputs[i]), state.graph().op_of(node).rotary_columns, out);
    state.set(node.outputs[i], std::move(out));
  }
}

// Rows that no later token sees.
void forget_rows(RankState& state, ValueId cache) {
  const Tensor& tensor = state.graph().tensor_of(cache);
  if (tensor.window == 0) return;
  std::vector<std::int64_t> requests;
  for (const RequestSlice& slice : state.plan.batch.requests) {
    if (tensor.phase == Phase::kAll || slice.phase == tensor.phase) requests.push_back(slice.request);
  }
  state.context.cache.retain(state.cache_name(cache), requests, state.plan.layouts.at(cache, state.rank).front().ids);
}

// Rows of this step that the cache keeps here, cut from the fresh value. The whole local cache is gathered when it is read.
void compute_append(RankState& state, const Node& node) {
  const AppendPlan& plan = state.node_plan(node).appends[static_cast<std::size_t>(state.rank)];
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    LocalDims source = plan.kept[i];
    source.front().dim = Dim::kTokens;
    LocalArray rows(source);
    select(operand(state, node.inputs[i]), rows);
    rows.dims = plan.kept[i];
    state.context.cache.put(state.cache_name(node.outputs[i]), rows);
    invent_rows(state, node.outputs[i], plan.old[i]);
    forget_rows(state, node.outputs[i]);
    LocalArray unread;
    unread.dims = state.plan.layouts.at(node.outputs[i], state.rank);
    state.set(node.outputs[i], std::move(unread));
  }
}

void compute_prefix(RankState& state, const Node& node) {
  LocalArray out = state.shaped(node.outputs[0]);
  invent_rows(state, node.inputs[0], out.dims);
  state.context.cache.get(state.cache_name(node.inputs[0]), out);
  state.set(node.outputs[0], std::move(out));
}

// Selections outlive their layer: later ones may take them over.
CacheName selection_name() { return {-1, "selection"}; }

// What an earlier layer chose for the tokens of q, in their order. A layer that runs alone takes the latest positions.
LocalArray earlier_selection(RankState& state, const LocalArray& q, std::int64_t top_k) {
  std::vector<std::int64_t> columns(static_cast<std::size_t>(top_k));
  std::iota(columns.begin(), columns.end(), 0);
  LocalArray selection(LocalDims{q.dims.front(), {Dim::kSelected, columns}});
  const auto& tokens = q.dims.front().ids;
  const bool made = std::all_of(tokens.begin(), tokens.end(), [&](std::int64_t id) { return state.context.cache.has(selection_name(), id); });
  if (made || !state.invent_prefix) {
    state.context.cache.get(selection_name(), selection);
    return selection;
  }
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    for (std::int64_t i = 0; i < top_k; ++i) {
      const std::int64_t position = position_of(tokens[t]) - i;
      selection.values[static_cast<std::int64_t>(t) * top_k + i] = static_cast<float>(std::max<std::int64_t>(-1, position));
    }
  }
  return selection;
}

void compute_attention(RankState& state, const Node& node) {
  LocalArray out = state.shaped(node.outputs[0]);
  const AttentionOp& op = state.graph().op_of(node).attention;
  AttentionTask task = attention_task(state, node);
  LocalArray earlier;
  if (op.top_k > 0 && !op.selects) {
    earlier = earlier_selection(state, operand(state, node.inputs[0]), op.top_k);
    task.selection = &earlier;
  }
  const auto attention = state.context.kernels.attention(task, operand(state, node.inputs[0]), out);
  add_sinks(state, node, out, *attention);
  const std::size_t all = node.inputs.size() - (op.selects ? 1 : 0);
  const std::size_t keys = op.entry_tokens > 0 ? 1 + (all - 1) / 2 : all;   // entries follow, as many
  for (std::size_t i = 1; i < keys; i += op.shared_kv ? 1 : 2) {
    attention->add(operand(state, node.inputs[i]), operand(state, node.inputs[op.shared_kv ? i : i + 1]));
  }
  for (std::size_t i = keys; i < all; ++i) attention->add_entries(operand(state, node.inputs[i]));
  attention->finish(out);
  state.set(node.outputs[0], std::move(out));
}

// Choices of an op for each token, kept and followed as the run asks. Two runs that round may differ in a value by their
// tolerance, so in a difference of two values by twice that.
Chooser chooser(const RankState& state, const Node& node) {
  const LogicalOp& op = state.graph().op_of(node);
  const std::int64_t stores = state.stores_before + static_cast<std::int64_t>(&node - state.graph().nodes.data());
  return {.layer = state.layer, .op = op.name, .record = state.context.record, .follow = state.context.follow, .widen = state.context.widen,
          .slack_ratio = 2 * tolerance(state.context.storage, stores)};
}

Chooser index_chooser(const RankState& state, const Node& node) {
  Chooser result = chooser(state, node);
  result.op = state.graph().op_of(node).index.phase == Phase::kDecode ? "index_decode" : "index_prefill";   // of scores and names alike
  return result;
}

void keep_selection(RankState& state, ValueId id, LocalArray selection) {
  state.context.cache.put(selection_name(), selection);
  state.set(id, std::move(selection));
}

void compute_index(RankState& state, const Node& node) {
  const IndexOp& op = state.graph().op_of(node).index;
  IndexInputs inputs{.q = operand(state, node.inputs[0])};
  if (op.weighted) inputs.weights = &operand(state, node.inputs[1]);
  for (std::size_t i = op.weighted ? 2 : 1; i < node.inputs.size(); ++i) inputs.keys.push_back(&operand(state, node.inputs[i]));
  LocalArray out = state.shaped(node.outputs[0]);
  if (state.graph().tensor_of(node.outputs[0]).format == &candidate_format()) {
    name_candidates(inputs, op, index_chooser(state, node), out);
    state.set(node.outputs[0], std::move(out));
    return;
  }
  choose_positions(inputs, op, index_chooser(state, node), out);
  keep_selection(state, node.outputs[0], std::move(out));
}

void compute_choose(RankState& state, const Node& node) {
  LocalArray out = state.shaped(node.outputs[0]);
  choose_among(operand(state, node.inputs[0]), state.graph().op_of(node).index, index_chooser(state, node), out);
  keep_selection(state, node.outputs[0], std::move(out));
}

// Rows of requests that begin with this step are zero; others were stored by an earlier step, or are made up.
LocalArray state_before(RankState& state, ValueId id) {
  LocalArray before = state.shaped(id);
  LocalDims known = before.dims;
  std::erase_if(known.front().ids, [&](std::int64_t request) { return is_of_this_step(state, request); });
  const CacheName name = state.cache_name(id);
  if (state.invent_prefix) {
    LocalDims missing = known;
    std::erase_if(missing.front().ids, [&](std::int64_t request) { return state.context.cache.has(name, request); });
    state.context.cache.put(name, state.context.source.cut(state.graph().logical, state.graph().value(id).tensor, state.layer, missing));
  }
  LocalArray stored(known);
  state.context.cache.get(name, stored);
  const auto to = offsets_of(before.dims, known, "state");
  for (std::size_t i = 0; i < to.size(); ++i) before.values[to[i]] = stored.values[i];
  return before;
}

void compute_scan(RankState& state, const Node& node) {
  const RecurrentSpec& spec = state.graph().op_of(node).scan;
  for (const ValueId id : node.weights) static_cast<void>(operand(state, id));
  const ScanInputs inputs{.q = operand(state, node.inputs[0]), .k = operand(state, node.inputs[1]), .v = operand(state, node.inputs[2]),
                          .decay = operand(state, node.inputs[3]), .beta = node.inputs.size() > 4 ? &operand(state, node.inputs[4]) : nullptr,
                          .conv_k = operand(state, node.weights[0]), .conv_v = operand(state, node.weights[1]), .head = operand(state, node.weights[2])};
  ScanState states{state_before(state, node.outputs[1]), state_before(state, node.outputs[2]), state_before(state, node.outputs[3])};
  LocalArray y = state.shaped(node.outputs[0]);
  scan(inputs, spec, states, y);
  state.set(node.outputs[0], std::move(y));
  LocalArray* const after[] = {&states.state, &states.conv_k, &states.conv_v};
  for (std::size_t i = 0; i < 3; ++i) {
    state.context.cache.put(state.cache_name(node.outputs[i + 1]), *after[i]);
    state.set(node.outputs[i + 1], std::move(*after[i]));
  }
}

void compute_compress(RankState& state, const Node& node) {
  const CompressInputs inputs{.keys = operand(state, node.inputs[0]), .gates = operand(state, node.inputs[1]), .table = operand(state, node.weights[0])};
  LocalArray held = state_before(state, node.outputs[1]);
  LocalArray entries = state.shaped(node.outputs[0]);
  compress(inputs, state.graph().op_of(node).compress, held, entries);
  state.set(node.outputs[0], std::move(entries));
  state.context.cache.put(state.cache_name(node.outputs[1]), held);
  state.set(node.outputs[1], std::move(held));
}

void compute_regroup(RankState& state, const Node& node) {
  LocalArray out = state.shaped(node.outputs[0]);
  const LocalArray& x = operand(state, node.inputs[0]);
  ensure(x.dims.front() == out.dims.front() && x.values.size() == out.values.size(), "a group of heads is not whole here");
  out.values = x.values;
  state.set(node.outputs[0], std::move(out));
}

void compute_streams_in(RankState& state, const Node& node) {
  LocalArray out = state.shaped(node.outputs[0]);
  read_streams(operand(state, node.inputs[0]), node.inputs.size() > 1 ? &operand(state, node.inputs[1]) : nullptr, out);
  state.set(node.outputs[0], std::move(out));
}

void compute_streams_out(RankState& state, const Node& node) {
  LocalArray out = state.shaped(node.outputs[0]);
  const LocalArray& x = operand(state, node.inputs[0]);
  if (node.inputs.size() == 1) copy_to_streams(x, out);
  else write_streams(x, operand(state, node.inputs[1]), operand(state, node.inputs[2]), out);
  state.set(node.outputs[0], std::move(out));
}

void compute_activate(RankState& state, const Node& node) {
  std::vector<const LocalArray*> inputs;
  for (const ValueId id : node.inputs) inputs.push_back(&operand(state, id));
  LocalArray out = state.shaped(node.outputs[0]);
  state.context.kernels.activate(inputs, state.graph().op_of(node).function, out);
  state.set(node.outputs[0], std::move(out));
}

void compute_route(RankState& state, const Node& node) {
  LocalArray out = state.shaped(node.outputs[0]);
  const ExpertsOp& op = state.graph().op_of(node).experts;
  LocalArray crowd(LocalDims{{Dim::kExperts, {}}});
  for (std::int64_t e = 0; state.context.crowd_experts && e < op.experts; ++e) {
    crowd.dims.front().ids.push_back(e);
    crowd.values.push_back(static_cast<float>(100 * (op.experts - e)));
  }
  const RouterWeights router{operand(state, node.weights[0]), state.context.crowd_experts ? &crowd : bias_of(state, node, 0)};
  state.context.kernels.route(operand(state, node.inputs[0]), router, op, chooser(state, node), out);
  state.set(node.outputs[0], std::move(out));
}

void compute_admit(RankState& state, const Node& node) {
  LocalArray out = state.shaped(node.outputs[0]);
  const ExpertsOp& op = state.graph().op_of(node).experts;
  DropRule rule{.capacity_factor_ratio = op.capacity_factor_ratio};
  if (state.context.tamper != nullptr) state.context.tamper->on_drop(state.rank, rule);
  admit(operand(state, node.inputs[0]), rule, op, state.context.sharing, out);
  state.set(node.outputs[0], std::move(out));
}

void compute_experts(RankState& state, const Node& node) {
  ExpertWeights held;
  for (const ValueId id : node.weights) held.weights.push_back(&operand(state, id));
  for (std::size_t i = 0; i < node.biases.size(); ++i) held.biases.push_back(bias_of(state, node, i));
  const Placement& down = state.graph().value(node.weights.back()).placement;
  if (!held.biases.empty() && !state.is_first(DigitSet(down.digits(Dim::kFfn)))) held.biases.back() = nullptr;   // added once
  const LocalArray& x = operand(state, node.inputs[0]);
  LocalArray out = state.shaped(node.outputs[0]);
  if (!state.graph().value(node.outputs[0]).placement.routed.empty()) {  // the tokens that came
    LocalDims dims = out.dims;
    dims.front() = x.dims.front();
    out = LocalArray(std::move(dims));
  }
  const ExpertsOp& op = state.graph().op_of(node).experts;
  state.context.kernels.experts(x, operand(state, node.inputs[1]), held, op, out);
  state.set(node.outputs[0], std::move(out));
}

void compute_add(RankState& state, const Node& node) {
  LocalArray out = state.shaped(node.outputs[0]);
  add(operand(state, node.inputs[0]), operand(state, node.inputs[1]), out);
  state.set(node.outputs[0], std::move(out));
}

void compute_concat(RankState& state, const Node& node) {
  LocalArray out = state.shaped(node.outputs[0]);
  std::vector<const LocalArray*> parts;
  for (const ValueId id : node.inputs) parts.push_back(&operand(state, id));
  concat(parts, out);
  state.set(node.outputs[0], std::move(out));
}

void compute_selection(RankState& state, const Node& node) {
  LocalArray out = state.shaped(node.outputs[0]);
  select(operand(state, node.inputs[0]), out);
  state.set(node.outputs[0], std::move(out));
}

void compute_join(RankState& state, const Node& node) {
  LocalArray out = state.shaped(node.outputs[0]);
  join(operand(state, node.inputs[0]), operand(state, node.inputs[1]), out);
  state.set(node.outputs[0], std::move(out));
}

void compute_sample(RankState& state, const Node& node) {
  LocalArray out = state.shaped(node.outputs[0]);
  const LocalArray& logits = operand(state, node.inputs[0]);
  if (state.context.sampler != nullptr) sample_top_p(logits, *state.context.sampler, out);
  else state.context.kernels.sample(logits, chooser(state, node), out);
  state.set(node.outputs[0], std::move(out));
}

struct Row {
  OpKind kind;
  NodeFunction function;
};

constexpr std::array kTable{
    Row{OpKind::kEmbed, compute_embed},         Row{OpKind::kNorm, compute_norm},
    Row{OpKind::kMatmul, compute_matmul},       Row{OpKind::kRotary, compute_rotary},
    Row{OpKind::kAppend, compute_append},       Row{OpKind::kPrefix, compute_prefix},
    Row{OpKind::kAttention, compute_attention}, Row{OpKind::kActivate, compute_activate},
    Row{OpKind::kRoute, compute_route},         Row{OpKind::kExperts, compute_experts},
    Row{OpKind::kAdmit, compute_admit},
    Row{OpKind::kAdd, compute_add},             Row{OpKind::kSplit, compute_selection},
    Row{OpKind::kJoin, compute_join},           Row{OpKind::kLast, compute_selection},
    Row{OpKind::kSample, compute_sample},       Row{OpKind::kIndex, compute_index},
    Row{OpKind::kChoose, compute_choose},
    Row{OpKind::kScan, compute_scan},           Row{OpKind::kSquares, compute_squares},
    Row{OpKind::kCompress, compute_compress},   Row{OpKind::kRegroup, compute_regroup},
    Row{OpKind::kStreamsIn, compute_streams_in}, Row{OpKind::kStreamsOut, compute_streams_out},
    Row{OpKind::kConcat, compute_concat},
};

}  // namespace

void run_compute(RankState& state, const Node& node) {
  const OpKind kind = state.graph().op_of(node).kind;
  for (const Row& row : kTable) {
    if (row.kind == kind) return row.function(state, node);
  }
  throw InternalError(std::string("the executor cannot run ") + op_name(kind));
}

}  // namespace shardplan
