#include "calibrate/kernels/moe.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/errors.h"
#include "calibrate/kernels/elementwise.h"
#include "calibrate/kernels/product.h"
#include "costmodel/expert_capacity.h"

namespace shardplan {
namespace {

std::vector<float> softmax(std::vector<float> logits) {
  const float most = *std::max_element(logits.begin(), logits.end());
  float sum = 0.0F;
  for (float& x : logits) sum += x = std::exp(x - most);
  for (float& x : logits) x /= sum;
  return logits;
}

void fill(const std::vector<float>& share, const std::vector<std::int64_t>& order, const ExpertsOp& op, float* entries) {
  float sum = 0.0F;
  for (std::int64_t j = 0; j < op.per_token; ++j) sum += share[order[j]];
  for (std::int64_t j = 0; j < op.per_token; ++j) {
    entries[kRoutingWidth * j] = static_cast<float>(order[j]);
    entries[kRoutingWidth * j + 1] = op.renormalise ? share[order[j]] / sum : share[order[j]];
  }
}

float at(const LocalArray* bias, std::int64_t i) { return bias == nullptr ? 0.0F : bias->values[i]; }

// One expert of this rank, by its index in the local weights.
void add_expert(const float* x, std::int64_t expert, float weight, const ExpertWeights& held, const ExpertsOp& op, float* y) {
  const bool gated = op.gated;
  const auto bias = [&](std::size_t i) { return held.biases.empty() ? nullptr : held.biases[i]; };
  const std::size_t last = held.weights.size() - 1;
  const LocalArray& up = *held.weights[last - 1];
  const LocalArray& down = *held.weights[last];
  const auto ffn = static_cast<std::int64_t>(up.ids(Dim::kFfn).size());
  const std::int64_t hidden = up.columns();
  std::vector<float> middle(static_cast<std::size_t>(ffn));
  for (std::int64_t f = 0; f < ffn; ++f) {
    const std::int64_t row = expert * ffn + f;
    const float u = dot_product(x, up.values.data() + row * hidden, hidden) + at(bias(last - 1), row);
    const float open = gated ? dot_product(x, held.weights[0]->values.data() + row * hidden, hidden) + at(bias(0), row) : u;
    middle[f] = apply(op.function, open) * (gated ? u : 1.0F);
  }
  for (std::int64_t h = 0; h < hidden; ++h) {
    const std::int64_t row = expert * hidden + h;
    y[h] += weight * (dot_product(middle.data(), down.values.data() + row * ffn, ffn) + at(bias(last), row));
  }
}

}  // namespace

void route(const LocalArray& x, const RouterWeights& router, const ExpertsOp& op, const Chooser& chooser, LocalArray& routing) {
  const LocalArray& w_router = router.weight;
  ensure(w_router.rows() == op.experts && w_router.columns() == x.columns(), "router needs all experts and all of x");
  const auto rows = offsets_of(x.dims, {routing.dims.front()}, "x of router");
  const auto& tokens = routing.dims.front().ids;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    std::vector<float> logits(static_cast<std::size_t>(op.experts));
    for (std::int64_t e = 0; e < op.experts; ++e) {
      logits[e] = dot_product(x.values.data() + rows[t], w_router.values.data() + e * x.columns(), x.columns()) + at(router.bias, e);
    }
    const auto chosen = chooser.choose(tokens[t], logits.data(), op.experts, op.per_token);
    fill(softmax(std::move(logits)), chosen, op, routing.values.data() + static_cast<std::int64_t>(t) * op.per_token * kRoutingWidth);
  }
}

void admit(const LocalArray& routing, const DropRule& rule, const ExpertsOp& op, const TokenGroups* groups, LocalArray& out) {
  const auto& tokens = routing.ids(Dim::kTokens);
  const auto group_of = [&](std::int64_t token) { return groups == nullptr ? 0 : groups->at(token); };
  std::map<int, std::int64_t> sizes;
  for (const std::int64_t token : tokens) ++sizes[group_of(token)];
  std::vector<std::size_t> order(tokens.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return tokens[a] < tokens[b]; });
  if (rule.last_first) std::reverse(order.begin(), order.end());
  ensure(out.values.size() == routing.values.size(), "picks stay where they are");
  std::map<std::pair<int, std::int64_t>, std::int64_t> taken;
  for (const std::size_t t : order) {
    const int group = group_of(tokens[t]);
    const std::int64_t capacity = expert_capacity(sizes[group], op.per_token, op.experts, rule.capacity_factor_ratio);
    for (std::int64_t j = 0; j < op.per_token; ++j) {
      const std::size_t at = (t * static_cast<std::size_t>(op.per_token) + static_cast<std::size_t>(j)) * kRoutingWidth;
      const auto expert = static_cast<std::int64_t>(routing.values[at]);
      const bool kept = taken[{group, expert}]++ < capacity;
      out.values[at] = kept ? routing.values[at] : static_cast<float>(kNoExpert);
      out.values[at + 1] = kept ? routing.values[at + 1] : 0.0F;
    }
  }
}

void experts(const LocalArray& x, const LocalArray& routing, const ExpertWeights& held_weights, const ExpertsOp& op, LocalArray& out) {
  const std::vector<const LocalArray*>& weights = held_weights.weights;
  const LocalDim tokens = out.dims.front();
  const auto x_rows = offsets_of(x.dims, {tokens}, "x of experts");
  const auto routes = offsets_of(routing.dims, {tokens}, "routing of experts");
  const auto& held = weights.front()->ids(Dim::kExperts);
  ensure(weights.back()->ids(Dim::kExperts) == held && weights.back()->ids(Dim::kFfn) == weights.front()->ids(Dim::kFfn),
         "expert matrices are cut differently");
  for (std::size_t t = 0; t < x_rows.size(); ++t) {
    for (std::int64_t j = 0; j < op.per_token; ++j) {
      const float* entry = routing.values.data() + (routes[t] + j) * kRoutingWidth;
      const auto it = std::find(held.begin(), held.end(), static_cast<std::int64_t>(entry[0]));
      if (it == held.end()) continue;
      add_expert(x.values.data() + x_rows[t], it - held.begin(), entry[1], held_weights, op,
                 out.values.data() + static_cast<std::int64_t>(t) * out.columns());
    }
  }
}

std::int64_t row_floats(const LocalArray& x) {
  return static_cast<std::int64_t>(x.values.size()) / std::max<std::int64_t>(1, std::ssize(x.dims.front().ids));
}

std::vector<float> take_rows(const LocalArray& x, const std::vector<std::int64_t>& rows) {
  const std::int64_t width = row_floats(x);
  std::vector<float> taken;
  taken.reserve(rows.size() * static_cast<std::size_t>(width));
  for (const std::int64_t row : rows) {
    const auto first = x.values.begin() + row * width;
    taken.insert(taken.end(), first, first + width);
  }
  return taken;
}

void add_rows(const std::vector<float>& values, const std::vector<std::int64_t>& rows, LocalArray& to) {
  const std::int64_t width = row_floats(to);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::int64_t c = 0; c < width; ++c) to.values[rows[i] * width + c] += values[static_cast<std::int64_t>(i) * width + c];
  }
}

}  // namespace shardplan
