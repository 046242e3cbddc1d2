#include "costmodel/op_rules.h"

#include <algorithm>

#include "base/errors.h"
#include "costmodel/lower.h"

namespace shardplan {
namespace {

void append_all(Placement& placement, const ShardList& shards) {
  placement.shards.insert(placement.shards.end(), shards.begin(), shards.end());
}


// Partial digits become what the residual stream has there; everything else stays.
Placement settle(const Placement& have, const Placement& residual) {
  Placement result;
  result.shards = have.shards;
  const DigitSet partial = have.sum | have.lse;
  for (const Shard& shard : residual.of(Dim::kTokens)) {
    if (partial.contains(shard.digit)) result.shards.push_back(shard);
  }
  return result;
}

Placement without_dim(Placement placement, Dim dim) {
  placement.shards.remove_if([dim](const Shard& shard) { return shard.dim == dim; });
  return placement;
}

// Only whole-request splits of the ragged dimension and the listed other dimensions.
Placement by_request_only(const Placement& have, Dim ragged) {
  Placement result;
  append_all(result, request_run(have, ragged));
  for (const Shard& shard : have.shards) {
    if (shard.dim != ragged) result.shards.push_back(shard);
  }
  return result;
}


// Tokens of whole requests alone.
Placement per_request_tokens(const Placement& have) {
  Placement result;
  append_all(result, request_run(have, Dim::kTokens));
  return result;
}

RuleResult pass_through(const RuleInput& in) {
  RuleResult result;
  for (const Placement& have : in.have) result.need.push_back(settle(have, in.strategy.residual));
  for (std::size_t i = 0; i < in.op.outputs.size(); ++i) result.out.push_back(result.need[std::min(i, result.need.size() - 1)]);
  return result;
}

RuleResult embed_rule(const RuleInput& in) {
  const DigitSet vocab = DigitSet(in.weights[0].digits(Dim::kVocab));
  Placement need = in.have[0];
  need.remove(vocab);
  Placement out = need;
  out.sum = vocab;
  return {{need}, {out}};
}

// Heads stay where they are: their sums of squares come as a value of their own.
RuleResult norm_by_squares_rule(const RuleInput& in) {
  const Placement need = settle(in.have[0], in.strategy.residual);
  Placement squares;
  append_all(squares, need.of(Dim::kTokens));
  return {{need, squares}, {need}};
}

RuleResult squares_rule(const RuleInput& in) {
  RuleResult result;
  for (const Placement& have : in.have) result.need.push_back(settle(have, in.strategy.residual));
  Placement out;
  append_all(out, result.need[0].of(Dim::kTokens));
  for (const Placement& need : result.need) {
    for (const Shard& shard : need.shards) {
      if (shard.dim == Dim::kHeads || shard.dim == Dim::kKvHeads) out.sum.insert(shard.digit);
    }
  }
  result.out = {out};
  return result;
}

RuleResult norm_rule(const RuleInput& in) {
  if (in.have.size() > 1) return norm_by_squares_rule(in);
  const Tensor& x = in.graph.tensor(in.op.inputs[0]);
  const Placement need = without_dim(settle(in.have[0], in.strategy.residual), x.dims.back().dim);
  return {{need}, {need}};
}

// What one weight of a product needs of x, and what comes out.
struct ProductRule {
  Placement need;
  Placement out;
};

ProductRule product_rule(const RuleInput& in, std::size_t index) {
  const Tensor& x = in.graph.tensor(in.op.inputs[0]);
  const Tensor& out_tensor = in.graph.tensor(in.op.outputs[index]);
  const Placement& w = in.weights[index];
  const Placement have = settle(in.have[0], in.strategy.residual);
  ProductRule result;
  const DigitSet used = w.sharded();
  for (const Shard& shard : have.shards) {   // dimensions the weight does not have: batch rows, kept where the weight is replicated
    if ((shard.dim == Dim::kTokens || shard.dim == Dim::kPositions) && !used.contains(shard.digit)) result.need.shards.push_back(shard);
  }
  for (const Shard& shard : in.strategy.residual.of(Dim::kTokens)) {   // heads that came by all-to-all go back to tokens
    const Shard* held = have.at(shard.digit);
    if (held != nullptr && held->dim != Dim::kTokens && held->dim != Dim::kPositions && !used.contains(shard.digit)) result.need.shards.push_back(shard);
  }
  result.out = result.need;
  for (const Shard& shard : w.shards) {
    const bool in_x = x.has(shard.dim);
    const bool in_out = out_tensor.has(shard.dim);
    if (in_x) result.need.shards.push_back(shard);
    if (in_out) result.out.shards.push_back(shard);
    if (in_x && !in_out) result.out.sum.insert(shard.digit);
  }
  return result;
}

RuleResult matmul_rule(const RuleInput& in) {
  RuleResult result;
  for (std::size_t i = 0; i < in.op.weights.size(); ++i) {
    ProductRule rule = product_rule(in, i);
    if (i == 0) result.need.push_back(rule.need);
    else if (!(rule.need == result.need[0])) {
      throw LoweringRefusal("fused_product", std::string("the weights of ") + in.op.name + " need their input placed differently");
    }
    result.out.push_back(std::move(rule.out));
  }
  return result;
}

RuleResult append_rule(const RuleInput& in) {
  RuleResult result;
  for (std::size_t i = 0; i < in.op.inputs.size(); ++i) {
    const Placement cache = in.strategy.place(in.graph.tensor(in.op.outputs[i]));
    Placement need;
    for (Shard shard : cache.shards) {
      if (shard.dim == Dim::kPositions) shard.dim = Dim::kTokens;
      need.shards.push_back(shard);
    }
    result.need.push_back(std::move(need));
    result.out.push_back(cache);
  }
  return result;
}

// The digits of K's heads must be the first of those of Q's: each query head lies with its KV head.
void require_kv_prefix(const Placement& q, const Placement& k) {
  const DigitList heads = q.digits(Dim::kHeads);
  const DigitList kv = k.digits(Dim::kKvHeads);
  const bool prefix = kv.size() <= heads.size() && std::equal(kv.begin(), kv.end(), heads.begin());
  if (!prefix) throw LoweringRefusal("kv_head_alignment", "a query head would lie on a rank without its KV head");
}

RuleResult decode_attention_rule(const RuleInput& in) {
  const Placement& q = in.have[0];
  const Placement& cache = in.have[1];
  DigitSet positions = DigitSet(cache.digits(Dim::kPositions));
  for (const Shard& shard : request_run(cache, Dim::kPositions)) positions.erase(shard.digit);
  RuleResult result;
  Placement need;
  append_all(need, request_run(q, Dim::kTokens));
  for (const Shard& shard : q.of(Dim::kHeads)) {
    if (!positions.contains(shard.digit)) need.shards.push_back(shard);
  }
  require_kv_prefix(need, cache);
  Placement out = need;
  out.lse = positions;
  result.need.push_back(need);
  for (std::size_t i = 1; i < in.have.size(); ++i) result.need.push_back(in.have[i]);
  result.out = {out};
  return result;
}

// K or V of a prefill: whole in tokens (or positions) but for the split by request; heads as the queries have them,
// KV heads as the fresh K has them.
Placement prefill_operand(const Placement& have, const Tensor& tensor, const Placement& q, const Placement& fresh_k) {
  const Dim ragged = tensor.dims.front().dim;
  Placement need;
  append_all(need, request_run(have, ragged));
  if (tensor.has(Dim::kHeads)) append_all(need, q.of(Dim::kHeads));
  else append_all(need, fresh_k.of(Dim::kKvHeads));
  return need;
}

RuleResult prefill_attention_rule(const RuleInput& in) {
  RuleResult result;
  const Placement q = settle(in.have[0], in.strategy.residual);
  result.need.push_back(q);
  for (std::size_t i = 1; i < in.have.size(); ++i) {
    result.need.push_back(prefill_operand(in.have[i], in.graph.tensor(in.op.inputs[i]), q, in.have[1]));
  }
  require_kv_prefix(q, result.need[1]);
  result.out = {q};
  return result;
}

// The selection lies with the tokens of its queries, whole.
void place_selection(const RuleInput& in, RuleResult& result) {
  if (!in.op.attention.selects) return;
  Placement need;
  append_all(need, result.need[0].of(Dim::kTokens));
  result.need.back() = need;
}

// Each query head lies with its sink.
void require_sinks(const RuleInput& in, const RuleResult& result) {
  if (in.weights.empty()) return;
  const ShardList sinks = in.weights[0].of(Dim::kHeads);
  const ShardList heads = result.out[0].of(Dim::kHeads);
  const bool prefix = sinks.size() <= heads.size() && std::equal(sinks.begin(), sinks.end(), heads.begin());
  if (!prefix) throw LoweringRefusal("sink_alignment", "a query head would lie on a rank without its sink");
}

RuleResult attention_rule(const RuleInput& in) {
  RuleResult result = in.op.attention.phase == Phase::kDecode ? decode_attention_rule(in) : prefill_attention_rule(in);
  place_selection(in, result);
  require_sinks(in, result);
  return result;
}

// Queries whole in tokens. A decode scores the cached keys where they lie; a prefill's keys come whole but for the split
// by request.
RuleResult index_rule(const RuleInput& in) {
  RuleResult result;
  Placement tokens;
  append_all(tokens, settle(in.have[0], in.strategy.residual).of(Dim::kTokens));
  if (in.op.index.phase == Phase::kDecode) tokens = per_request_tokens(tokens);
  for (std::size_t i = 0; i < in.have.size(); ++i) {
    const Tensor& tensor = in.graph.tensor(in.op.inputs[i]);
    const bool queries = i == 0 || (in.op.index.weighted && i == 1);
    Placement need;
    if (queries) {
      need = tokens;
    } else {
      if (tensor.lifetime == Lifetime::kCache) need = in.have[i];
      else append_all(need, request_run(in.have[i], tensor.dims.front().dim));
    }
    result.need.push_back(std::move(need));
  }
  result.out = {tokens};
  return result;
}

// Tokens of a request whole and in order; heads as the state has them, key heads a prefix of them.
RuleResult scan_rule(const RuleInput& in) {
  const Placement state = in.strategy.place(in.graph.tensor(in.op.outputs[1]));
  Placement tokens;
  for (const Shard& shard : state.of(Dim::kRequests)) tokens.shards.push_back({Dim::kTokens, shard.digit, shard.layout});
  Placement heads = tokens;
  append_all(heads, state.of(Dim::kHeads));
  Placement keys = tokens;
  append_all(keys, in.weights[0].of(Dim::kKvHeads));
  require_kv_prefix(heads, keys);
  const std::int64_t parts = in.strategy.mesh.size(keys.digits(Dim::kKvHeads));
  const std::int64_t key_heads = in.op.scan.key_heads;
  if (key_heads % parts != 0 && parts % key_heads != 0) {
    throw LoweringRefusal("kv_heads_aligned", "the key heads of a recurrent layer and the ranks they are split over do not divide each other");
  }
  RuleResult result;
  for (const TensorId id : in.op.inputs) result.need.push_back(in.graph.tensor(id).has(Dim::kKvHeads) ? keys : heads);
  result.out.push_back(heads);
  for (std::size_t i = 1; i < in.op.outputs.size(); ++i) result.out.push_back(in.strategy.place(in.graph.tensor(in.op.outputs[i])));
  return result;
}

// Tokens of a request whole and in order, as its state lies; entries come out there.
RuleResult compress_rule(const RuleInput& in) {
  const Placement state = in.strategy.place(in.graph.tensor(in.op.outputs[1]));
  Placement tokens;
  for (const Shard& shard : state.of(Dim::kRequests)) tokens.shards.push_back({Dim::kTokens, shard.digit, shard.layout});
  return {{tokens, tokens}, {tokens, state}};
}

// Whole groups of heads on each rank.
RuleResult regroup_rule(const RuleInput& in) {
  RuleResult result = pass_through(in);
  const std::int64_t groups = in.graph.tensor(in.op.outputs[0]).extent(Dim::kHeads);
  if (groups % in.strategy.mesh.size(result.need[0].digits(Dim::kHeads)) != 0) {
    throw LoweringRefusal("output_groups", "a group of heads would lie on several ranks");
  }
  return result;
}

// Streams stay as the residual lies; the block's output comes there.
RuleResult streams_rule(const RuleInput& in) {
  RuleResult result;
  for (std::size_t i = 0; i < in.have.size(); ++i) result.need.push_back(in.have.size() > 1 ? in.strategy.residual : settle(in.have[0], in.strategy.residual));
  result.out = {result.need[0]};
  return result;
}

// All operands where the first one lies; one number for each token where the last one's tokens lie.
RuleResult activate_rule(const RuleInput& in) {
  if (in.graph.tensor(in.op.inputs[0]).dims.size() == 1) {
    const Placement need = settle(in.have.back(), in.strategy.residual);
    Placement tokens;
    append_all(tokens, need.of(Dim::kTokens));
    return {{tokens, need}, {need}};
  }
  const Placement need = settle(in.have[0], in.strategy.residual);
  RuleResult result;
  for (std::size_t i = 0; i < in.have.size(); ++i) result.need.push_back(need);
  result.out = {need};
  return result;
}

RuleResult route_rule(const RuleInput& in) {
  const Placement need = without_dim(settle(in.have[0], in.strategy.residual), Dim::kHidden);
  return {{need}, {need}};
}

// The picks of every token that shares the experts, whose weights say over which digits.
RuleResult admit_rule(const RuleInput& in) {
  Placement need = settle(in.have[0], in.strategy.residual);
  for (const LogicalOp& op : in.graph.ops) {
    if (op.kind == OpKind::kExperts && op.inputs[1] == in.op.outputs[0]) need.remove(in.strategy.place(in.graph.tensor(op.weights[0])).sharded());
  }
  return {{need}, {need}};
}

// Tokens whole over the digits of the experts (gathered, or replicated already); the result is partial over them.
// With dispatch, tokens must instead be split over all of them: each token leaves from one rank.
RuleResult experts_rule(const RuleInput& in) {
  const DigitSet digits = in.weights[0].sharded();
  Placement need = settle(in.have[0], in.strategy.residual);
  if (!in.strategy.dispatch_experts) {
    need.remove(digits);
    Placement out = need;
    out.sum = digits;
    return {{need, need}, {out}};
  }
  for (Digit d = 0; d < in.strategy.mesh.digit_count(); ++d) {
    if (digits.contains(d) && need.at(d) == nullptr) need.append(Dim::kTokens, {d}, Layout::kContiguous);
  }
  return {{need, need}, {need}};
}

RuleResult add_rule(const RuleInput& in) {
  const bool alike = in.have[0] == in.have[1] && in.have[0].lse.empty();
  const Placement need = alike ? in.have[0] : in.strategy.residual;
  return {{need, need}, {need}};
}

// Each input whole, where the residual stream's tokens lie.
RuleResult concat_rule(const RuleInput& in) {
  RuleResult result;
  Placement tokens;
  append_all(tokens, in.strategy.residual.of(Dim::kTokens));
  for (std::size_t i = 0; i < in.have.size(); ++i) result.need.push_back(tokens);
  result.out = {tokens};
  return result;
}

// Tokens split request by request alone: a cut of the flat list of both phases is no cut of one phase's list.
Placement per_request(const Placement& have) {
  Placement result = without_dim(have, Dim::kTokens);
  for (const Shard& shard : have.of(Dim::kTokens)) {
    if (shard.layout == Layout::kContiguous) break;
    result.shards.push_back(shard);
  }
  return result;
}

RuleResult split_rule(const RuleInput& in) {
  const Placement need = per_request(settle(in.have[0], in.strategy.residual));
  return {{need}, {need}};
}

// The decode branch comes to where the prefill branch lies: heads whole positions, no LSE.
RuleResult join_rule(const RuleInput& in) {
  const Placement need = per_request(settle(in.have[1], in.strategy.residual));
  return {{need, need}, {need}};
}

RuleResult tokens_by_request_rule(const RuleInput& in) {
  const Placement need = by_request_only(settle(in.have[0], in.strategy.residual), Dim::kTokens);
  return {{need}, {need}};
}

RuleResult sample_rule(const RuleInput& in) {
  const Placement need = without_dim(in.have[0], Dim::kVocab);
  return {{need}, {need}};
}

}  // namespace

ShardList request_run(const Placement& placement, Dim dim) {
  ShardList run;
  for (const Shard& shard : placement.of(dim)) {
    if (shard.layout != Layout::kByRequest) break;
    run.push_back(shard);
  }
  return run;
}

RuleResult op_rule(const RuleInput& in) {
  switch (in.op.kind) {
    case OpKind::kEmbed: return embed_rule(in);
    case OpKind::kNorm: return norm_rule(in);
    case OpKind::kSquares: return squares_rule(in);
    case OpKind::kMatmul: return matmul_rule(in);
    case OpKind::kAppend: return append_rule(in);
    case OpKind::kAttention: return attention_rule(in);
    case OpKind::kIndex: return index_rule(in);
    case OpKind::kCompress: return compress_rule(in);
    case OpKind::kRegroup: return regroup_rule(in);
    case OpKind::kStreamsIn:
    case OpKind::kStreamsOut: return streams_rule(in);
    case OpKind::kScan: return scan_rule(in);
    case OpKind::kActivate: return activate_rule(in);
    case OpKind::kRoute: return route_rule(in);
    case OpKind::kAdmit: return admit_rule(in);
    case OpKind::kExperts: return experts_rule(in);
    case OpKind::kAdd: return add_rule(in);
    case OpKind::kConcat: return concat_rule(in);
    case OpKind::kLast: return tokens_by_request_rule(in);
    case OpKind::kJoin: return join_rule(in);
    case OpKind::kSample: return sample_rule(in);
    case OpKind::kSplit: return split_rule(in);
    case OpKind::kRotary:
    case OpKind::kChoose:   // among candidates that are whole: its node comes with its index's
    case OpKind::kPrefix: return pass_through(in);
  }
  throw InternalError("operation without a rule");
}

}  // namespace shardplan
