// Dispatch and combine: the only messages that carry indices, because who gets which token is known at run time alone.
//
// De-duplicated: a token goes once to each rank that holds one of its experts, and with it its routing. Where experts are
// also cut by width, every rank with a slice of the expert gets the token. Not padded.
#include <algorithm>
#include <map>

#include "base/errors.h"
#include "calibrate/kernels/moe.h"
#include "calibrate/nodes/node_table.h"
#include "calibrate/token_id.h"

namespace shardplan {
namespace {

using Ids = std::vector<std::int64_t>;

// The experts op's weights say where experts lie.
ValueId expert_weight(const StepGraph& graph, const Node& node) {
  for (const Node& other : graph.nodes) {
    if (other.kind == NodeKind::kCompute && other.op == node.op) return other.weights.front();
  }
  throw InternalError("dispatch without experts");
}

Ids experts_of(const RankState& state, const Node& node, int rank) {
  for (const LocalDim& d : state.plan.layouts.at(expert_weight(state.graph(), node), rank)) {
    if (d.dim == Dim::kExperts) return d.ids;
  }
  throw InternalError("expert weights without experts");
}

// Local tokens with an expert on `peer`.
Ids tokens_for(const RankState& state, const Node& node, const LocalArray& routing, int peer) {
  const Ids held = experts_of(state, node, peer);
  const std::int64_t per_token = routing.columns();
  Ids tokens;
  const Ids& all = routing.ids(Dim::kTokens);
  for (std::size_t t = 0; t < all.size(); ++t) {
    const float* entries = routing.values.data() + static_cast<std::int64_t>(t) * per_token * kRoutingWidth;
    for (std::int64_t j = 0; j < per_token; ++j) {
      const auto expert = static_cast<std::int64_t>(entries[j * kRoutingWidth]);
      if (std::find(held.begin(), held.end(), expert) == held.end()) continue;
      tokens.push_back(all[t]);
      break;
    }
  }
  return tokens;
}

LocalArray with_tokens(const LocalArray& like, Ids tokens) {
  LocalDims dims = like.dims;
  dims.front().ids = std::move(tokens);
  return LocalArray(std::move(dims), like.width);
}

LocalArray rows_of(const RankState& state, const LocalArray& array, const Ids& tokens) {
  LocalArray rows = with_tokens(array, tokens);
  const Ids from = index_map(tokens, array.dims.front().ids);
  ensure(std::find(from.begin(), from.end(), -1) == from.end(), "a token to send is not held here");
  rows.values = state.context.kernels.take_rows(array, from);
  return rows;
}

// Rows of several ranks, one below the other.
void append_rows(LocalArray& to, const Ids& ids, const std::vector<float>& values) {
  Ids& all = to.dims.front().ids;
  for (const std::int64_t id : ids) {
    const bool twice = std::find(all.begin(), all.end(), id) != all.end();
    if (twice) throw InternalError("token (request " + std::to_string(request_of(id)) + ", position " + std::to_string(position_of(id)) + ") arrives twice");
    all.push_back(id);
  }
  to.values.insert(to.values.end(), values.begin(), values.end());
}

void send_rows(RankState& state, int peer, LocalArray rows, double element_bytes) {
  const std::int64_t elements = rows.elements();
  state.send(peer, {std::move(rows.values), std::move(rows.dims.front().ids)}, elements, element_bytes);
}

// Adds the rows that a message brings to the tokens kept here.
void add_rows(const Kernels& kernels, const Ids& ids, const std::vector<float>& values, LocalArray& out, std::vector<int>& arrivals) {
  const auto rows = index_map(ids, out.dims.front().ids);
  const std::int64_t columns = out.columns();
  ensure(values.size() == ids.size() * static_cast<std::size_t>(columns), "a message of another size than its tokens");
  for (const std::int64_t row : rows) {
    ensure(row >= 0, "a token came to a rank that does not keep it");
    ++arrivals[row];
  }
  kernels.add_rows(values, rows, out);
}

// Tokens of `y` that `peer` keeps after the combine.
LocalArray rows_kept_by(const RankState& state, const Node& node, const LocalArray& y, int peer) {
  const Ids& kept = state.plan.layouts.at(node.outputs[0], peer).front().ids;
  Ids wanted;
  for (const std::int64_t id : y.ids(Dim::kTokens)) {
    if (std::find(kept.begin(), kept.end(), id) != kept.end()) wanted.push_back(id);
  }
  return rows_of(state, y, wanted);
}

}  // namespace

void run_dispatch(RankState& state, const Node& node) {
  const std::vector<int> group = state.group(node);
  std::map<std::size_t, LocalArray> outs;
  for (const std::size_t i : {0U, 1U}) {
    const LocalArray& in = state.value(node.inputs[i]);
    const double bytes = state.bytes_per_element(node.outputs[i]);
    for (const int peer : group) {
      if (peer == state.rank) continue;
      send_rows(state, peer, rows_of(state, in, tokens_for(state, node, state.value(node.inputs[1]), peer)), bytes);
    }
  }
  for (const std::size_t i : {0U, 1U}) {
    const LocalArray& in = state.value(node.inputs[i]);
    LocalArray out = with_tokens(in, {});
    for (const int sender : group) {
      if (sender == state.rank) {
        const LocalArray own = rows_of(state, in, tokens_for(state, node, state.value(node.inputs[1]), state.rank));
        append_rows(out, own.dims.front().ids, own.values);
      } else {
        const Message message = state.receive(sender);
        append_rows(out, message.ids, message.values);
      }
    }
    outs.emplace(i, std::move(out));
  }
  for (auto& [i, out] : outs) state.set(node.outputs[i], std::move(out));
}

void run_combine(RankState& state, const Node& node) {
  const LocalArray& y = state.value(node.inputs[0]);
  LocalArray out = state.shaped(node.outputs[0]);
  const std::vector<int> group = state.group(node);
  for (const int peer : group) {
    if (peer != state.rank) send_rows(state, peer, rows_kept_by(state, node, y, peer), state.bytes_per_element(node.inputs[0]));
  }
  std::vector<int> arrivals(out.dims.front().ids.size(), 0);
  for (const int sender : group) {
    if (sender == state.rank) {
      const LocalArray own = rows_kept_by(state, node, y, state.rank);
      add_rows(state.context.kernels, own.dims.front().ids, own.values, out, arrivals);
    } else {
      const Message message = state.receive(sender);
      add_rows(state.context.kernels, message.ids, message.values, out, arrivals);
    }
  }
  const bool drops = state.graph().op_of(node).experts.capacity_factor_ratio > 0;   // a token may be left without an expert
  ensure(drops || std::find(arrivals.begin(), arrivals.end(), 0) == arrivals.end(), "a token comes back from no expert");
  state.set(node.outputs[0], std::move(out));
}

}  // namespace shardplan
