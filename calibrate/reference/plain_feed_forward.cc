#include "calibrate/reference/plain_feed_forward.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace shardplan {
namespace {

double activated(Activation activation, double x) {
  if (activation == Activation::kRelu2) return x > 0 ? x * x : 0.0;
  return plain_silu(x);
}

// Adds the bias `name` of a slice of stacked weights.
void add_bias(const PlainLayer& layer, const char* name, Part part, std::vector<std::int64_t> expert, Vector& y) {
  const PlainWeight bias = layer.weight(name, part, expert.empty() ? 0 : 1);
  expert.push_back(0);
  for (expert.back() = 0; expert.back() < static_cast<std::int64_t>(y.size()); ++expert.back()) y[expert.back()] += bias.at(expert);
}

// One MLP; `expert` selects a slice of stacked weights, empty for a single one.
Vector mlp(const PlainLayer& layer, Part part, std::int64_t width, const FfnSpec& spec, const std::vector<std::int64_t>& expert, const Vector& x) {
  const auto inputs = static_cast<std::int64_t>(x.size());
  const bool bias = spec.bias && part != Part::kSharedExpert;
  Vector up = layer.weight("w_up", part, inputs).times(expert, width, x);
  if (bias) add_bias(layer, "b_up", part, expert, up);
  Vector gate = spec.gated ? layer.weight("w_gate", part, inputs).times(expert, width, x) : up;
  if (bias && spec.gated) add_bias(layer, "b_gate", part, expert, gate);
  Vector middle;
  for (std::size_t i = 0; i < up.size(); ++i) middle.push_back(activated(spec.activation, gate[i]) * (spec.gated ? up[i] : 1.0));
  Vector y = layer.weight("w_down", part, width).times(expert, inputs, middle);
  if (bias) add_bias(layer, "b_down", part, expert, y);
  return y;
}

struct Choice {
  std::int64_t expert = 0;
  double weight = 0;
};

std::vector<Choice> choose(const PlainLayer& layer, const FfnSpec& spec, const Vector& x) {
  Vector score = layer.weight("w_router", Part::kRouter, static_cast<std::int64_t>(x.size())).times({}, spec.experts, x);
  if (spec.router_bias) add_bias(layer, "b_router", Part::kRouter, {}, score);
  double total = 0.0;
  for (double& s : score) total += s = std::exp(s);
  std::vector<std::int64_t> order(score.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return score[a] > score[b]; });
  order.resize(static_cast<std::size_t>(spec.experts_per_token));
  double kept = 0.0;
  for (const std::int64_t e : order) kept += score[e];
  std::vector<Choice> choices;
  for (const std::int64_t e : order) choices.push_back({e, score[e] / (spec.renormalise ? kept : total)});
  return choices;
}

void add_scaled(Vector& y, double factor, const Vector& x) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += factor * x[i];
}

}  // namespace

Vector plain_feed_forward(const PlainLayer& layer, const FfnSpec& spec, const Vector& x, std::int64_t norm, PlainRoom& room) {
  if (spec.kind == FfnKind::kDense) return mlp(layer, Part::kDenseFfn, spec.intermediate, spec, {}, x);
  const auto hidden = static_cast<std::int64_t>(x.size());
  const bool latent = spec.expert_hidden > 0;
  const Vector in = latent ? layer.weight("w_latent_down", Part::kRouter, hidden).times({}, spec.expert_hidden, x) : x;
  Vector routed(in.size(), 0.0);
  for (const Choice& choice : choose(layer, spec, x)) {
    if (room.capacity > 0 && room.taken[choice.expert]++ >= room.capacity) continue;
    add_scaled(routed, choice.weight, mlp(layer, Part::kExperts, spec.intermediate, spec, {choice.expert}, in));
  }
  if (spec.expert_norm) routed = plain_norm(routed, layer.weight("w_norm", Part::kNorm, 0, norm));
  Vector y = latent ? layer.weight("w_latent_up", Part::kRouter, spec.expert_hidden).times({}, hidden, routed) : routed;
  double open = 1.0;
  if (spec.shared_gate) {
    const PlainWeight w = layer.weight("w_scalar_gate", Part::kSharedExpert, 0);
    double logit = 0.0;
    for (std::int64_t i = 0; i < hidden; ++i) logit += w.at({i}) * x[i];
    open = 1.0 / (1.0 + std::exp(-logit));
  }
  if (spec.shared_intermediate > 0) add_scaled(y, open, mlp(layer, Part::kSharedExpert, spec.shared_intermediate, spec, {}, x));
  return y;
}

}  // namespace shardplan
