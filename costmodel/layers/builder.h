// Helpers that keep layer definitions short: tensors by role, operations by name.
#pragma once

#include <vector>

#include "costmodel/logical_graph.h"

namespace shardplan {

using IdList = InlineVector<TensorId, 6>;
using NameList = InlineVector<const char*, 6>;

class LayerBuilder {
 public:
  LayerBuilder(const ModelSpec& model, StepForm form, const GraphFormats& formats)
      : model_(model), form_(form), formats_(formats) {}

  // An activation over the step's tokens of `phase` and `dims` (extents as given).
  TensorId activation(const char* name, Part part, DimList dims, Phase phase = Phase::kAll,
                      const NumberFormat* format = nullptr);
  // A weight with output dims first; `format` may be nullptr for the model's "other" format.
  TensorId weight(const char* name, Part part, DimList outputs, DimList inputs,
                  const NumberFormat* format);
  // A learned vector (bias, sinks) in the format of the model's small weights.
  TensorId vector(const char* name, Part part, DimList dims);
  TensorId cache(const char* name, DimList dims, Phase phase, const NumberFormat* format = nullptr);
  // One element per request: what a recurrent layer keeps.
  TensorId state(const char* name, DimList dims, const NumberFormat* format);

  // RMSNorm of the last dimension but its trailing `carry` columns.
  TensorId norm(const char* name, TensorId x, std::int64_t carry = 0);
  // The same inside the kernel that follows: Q and K norms pass with the rotary embedding.
  TensorId fused_norm(const char* name, TensorId x);
  // RMSNorm of Q and K over all their heads together, from sums of squares that travel between the ranks of the heads.
  void norm_whole(TensorId& q, TensorId& k);
  // One output per weight, named as given; dims follow from x and the weight by dimension name.
  // `biases` as LogicalOp::biases.
  IdList matmul(const char* name, TensorId x, IdList weights, NameList outputs, Part part, IdList biases = {});
  // One product into a tensor made by the caller, `carry` columns of x copied behind it.
  TensorId matmul_into(const char* name, TensorId x, TensorId weight, TensorId output, std::int64_t carry);
  TensorId rotary(TensorId x, const char* name, std::int64_t columns);
  TensorId rotary_pair(TensorId q, TensorId k, const char* q_name, const char* k_name, std::int64_t columns, TensorId& k_out);
  // function(gate) times value, where the gate lies.
  TensorId gate(const char* name, TensorId gate_id, TensorId value, ElementFunction function);
  TensorId add_residual(const char* name, TensorId x, TensorId branch);
  TensorId split(const char* name, TensorId x, Phase phase);
  TensorId join(const char* name, TensorId decode, TensorId prefill);
  void append(IdList fresh, IdList caches);
  TensorId prefix(const char* name, TensorId cache);

  [[nodiscard]] bool has_decode() const { return form_ != StepForm::kPrefill; }
  [[nodiscard]] bool has_prefill() const { return form_ != StepForm::kDecode; }
  [[nodiscard]] bool is_mixed() const { return form_ == StepForm::kMixed; }
  [[nodiscard]] const ModelSpec& model() const { return model_; }
  [[nodiscard]] const GraphFormats& formats() const { return formats_; }

  LogicalGraph graph;

 private:
  const ModelSpec& model_;
  StepForm form_;
  GraphFormats formats_;
};

// The branches of a layer: each takes the residual stream's normed value and returns what is added to it.
TensorId build_grouped_attention(LayerBuilder& build, TensorId x, const LayerKind& kind);
TensorId build_latent_attention(LayerBuilder& build, TensorId x, const LayerKind& kind);
TensorId build_compressed_attention(LayerBuilder& build, TensorId x, const LayerKind& kind);
TensorId build_recurrent(LayerBuilder& build, TensorId x, const LayerKind& kind);
TensorId build_dense_ffn(LayerBuilder& build, TensorId x, const LayerKind& kind);
TensorId build_moe(LayerBuilder& build, TensorId x, const LayerKind& kind);

}  // namespace shardplan
