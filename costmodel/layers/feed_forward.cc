// The feed-forward branch: a dense MLP, or routed experts with an optional shared expert.
#include "costmodel/layers/builder.h"

namespace shardplan {
namespace {

// A routed token's expert ids and weights: 4 bytes each per chosen expert.
const NumberFormat kRoutingFormat{.name = "routing", .help = "expert id and weight", .bits = 64};

ElementFunction function_of(const FfnSpec& ffn) { return ffn.activation == Activation::kRelu2 ? ElementFunction::kRelu2 : ElementFunction::kSilu; }

struct MlpNames {
  const char* up;
  const char* down;
  const char* output;
};

// What distinguishes one MLP of a layer from another.
struct Mlp {
  Part part;
  std::int64_t width;
  const NumberFormat* format;
  bool bias;
  bool scalar_gate;  // sigmoid of one more product scales each token
  MlpNames names;
};

TensorId mlp(LayerBuilder& build, TensorId x, const FfnSpec& spec, const Mlp& of) {
  const auto [part, width, format, bias, scalar_gate, op_names] = of;
  const bool gated = spec.gated;
  const DimExtent hidden{Dim::kHidden, build.model().hidden};
  const DimExtent ffn{Dim::kFfn, width};
  IdList weights;
  NameList names;
  if (gated) {
    weights.push_back(build.weight("w_gate", part, {ffn}, {hidden}, format));
    names.push_back("gate");
  }
  weights.push_back(build.weight("w_up", part, {ffn}, {hidden}, format));
  names.push_back("up");
  IdList biases;
  if (bias && gated) biases.push_back(build.vector("b_gate", part, {ffn}));
  if (bias) biases.push_back(build.vector("b_up", part, {ffn}));
  const auto wide = build.matmul(op_names.up, x, weights, names, part, biases);
  const TensorId activated = build.activation("activated", part, {ffn}, build.graph.tensor(x).phase);
  LogicalOp activation{.kind = OpKind::kActivate, .name = "activation", .inputs = wide, .weights = {}, .outputs = {activated}};
  activation.function = function_of(spec);
  build.graph.op(std::move(activation));
  TensorId middle = activated;
  if (scalar_gate) {   // before the last product, which is linear: its sums need no second all-reduce
    const TensorId w_gate = build.weight("w_scalar_gate", part, {}, {hidden}, build.model().formats.other);
    middle = build.gate("shared_gated", build.matmul("shared_gate", x, {w_gate}, {"shared_gate"}, part)[0], activated, ElementFunction::kSigmoid);
  }
  IdList down_bias;
  if (bias) down_bias.push_back(build.vector("b_down", part, {hidden}));
  return build.matmul(op_names.down, middle, {build.weight("w_down", part, {hidden}, {ffn}, format)}, {op_names.output}, part, down_bias)[0];
}

// Tokens in the space that latent experts work in; x itself where they work in the hidden one.
TensorId to_experts(LayerBuilder& build, TensorId x, const LayerKind& kind, DimExtent width) {
  if (kind.ffn.expert_hidden == 0) return x;
  const TensorId w_down = build.weight("w_latent_down", Part::kRouter, {width}, {{Dim::kHidden, build.model().hidden}}, kind.formats.other);
  return build.matmul("latent_down", x, {w_down}, {"experts_in"}, Part::kExperts)[0];
}

TensorId from_experts(LayerBuilder& build, TensorId routed, const LayerKind& kind, DimExtent width) {
  if (kind.ffn.expert_hidden == 0) return routed;
  if (kind.ffn.expert_norm) routed = build.norm("experts_normed", routed);
  const TensorId w_up = build.weight("w_latent_up", Part::kRouter, {{Dim::kHidden, build.model().hidden}}, {width}, kind.formats.other);
  return build.matmul("latent_up", routed, {w_up}, {"experts_back"}, Part::kExperts)[0];
}

}  // namespace

TensorId build_dense_ffn(LayerBuilder& build, TensorId x, const LayerKind& kind) {
  return mlp(build, x, kind.ffn, {Part::kDenseFfn, kind.ffn.intermediate, kind.formats.dense_ffn, kind.ffn.bias, false, {"gate_up", "down", "ffn_out"}});
}

TensorId build_moe(LayerBuilder& build, TensorId x, const LayerKind& kind) {
  const FfnSpec& ffn = kind.ffn;
  const DimExtent hidden{Dim::kHidden, build.model().hidden};
  const DimExtent inner = ffn.expert_hidden > 0 ? DimExtent{Dim::kExpertHidden, ffn.expert_hidden} : hidden;   // where experts work
  const DimExtent experts{Dim::kExperts, ffn.experts};
  const DimExtent width{Dim::kFfn, ffn.intermediate};
  const ExpertsOp shape{.experts = ffn.experts, .per_token = ffn.experts_per_token, .intermediate = ffn.intermediate,
                        .gated = ffn.gated, .renormalise = ffn.renormalise, .function = function_of(ffn),
                        .dispatch_format = build.formats().dispatch};
  const TensorId routing = build.activation("routing", Part::kRouter, {{Dim::kRouted, ffn.experts_per_token}}, Phase::kAll, &kRoutingFormat);
  const TensorId w_router = build.weight("w_router", Part::kRouter, {experts}, {hidden}, kind.formats.other);
  build.graph.op({.kind = OpKind::kRoute, .name = "router", .inputs = {x}, .weights = {w_router},
                  .biases = ffn.router_bias ? IdList{build.vector("b_router", Part::kRouter, {experts})} : IdList{}, .outputs = {routing}, .experts = shape});
  const TensorId tokens = to_experts(build, x, kind, inner);
  IdList weights;
  if (ffn.gated) weights.push_back(build.weight("w_gate", Part::kExperts, {experts, width}, {inner}, kind.formats.experts));
  weights.push_back(build.weight("w_up", Part::kExperts, {experts, width}, {inner}, kind.formats.experts));
  weights.push_back(build.weight("w_down", Part::kExperts, {experts, inner}, {width}, kind.formats.experts));
  IdList biases;
  if (ffn.bias && ffn.gated) biases.push_back(build.vector("b_gate", Part::kExperts, {experts, width}));
  if (ffn.bias) {
    biases.push_back(build.vector("b_up", Part::kExperts, {experts, width}));
    biases.push_back(build.vector("b_down", Part::kExperts, {experts, inner}));
  }
  TensorId routed = build.activation("experts_out", Part::kExperts, {inner});
  build.graph.op({.kind = OpKind::kExperts, .name = "experts", .inputs = {tokens, routing}, .weights = weights, .biases = biases, .outputs = {routed}, .experts = shape});
  routed = from_experts(build, routed, kind, inner);
  if (ffn.shared_intermediate == 0) return routed;
  const TensorId shared = mlp(build, x, ffn, {Part::kSharedExpert, ffn.shared_intermediate, kind.formats.shared_experts, false,
                                              ffn.shared_gate, {"shared_gate_up", "shared_down", "shared_out"}});
  return build.add_residual("moe_out", routed, shared);
}

}  // namespace shardplan
