#include "costmodel/layers/builder.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"

namespace shardplan {

TensorId LayerBuilder::activation(const char* name, Part part, DimList dims, Phase phase,
                                  const NumberFormat* format) {
  Tensor tensor{.name = name, .part = part, .lifetime = Lifetime::kActivation, .phase = phase, .dims = {{Dim::kTokens}},
                .format = format != nullptr ? format : formats_.activation};
  tensor.dims.insert(tensor.dims.end(), dims.begin(), dims.end());
  return graph.add(std::move(tensor));
}

TensorId LayerBuilder::weight(const char* name, Part part, DimList outputs, DimList inputs,
                              const NumberFormat* format) {
  Tensor tensor{.name = name, .part = part, .lifetime = Lifetime::kWeight, .phase = Phase::kAll, .dims = outputs,
                .format = format != nullptr ? format : find_format("bf16")};
  for (const DimExtent& d : outputs) tensor.output_dims.push_back(d.dim);
  tensor.dims.insert(tensor.dims.end(), inputs.begin(), inputs.end());
  return graph.add(std::move(tensor));
}

TensorId LayerBuilder::vector(const char* name, Part part, DimList dims) {
  return weight(name, part, dims, {}, model_.formats.other);
}

TensorId LayerBuilder::cache(const char* name, DimList dims, Phase phase, const NumberFormat* format) {
  Tensor tensor{.name = name, .part = Part::kAttention, .lifetime = Lifetime::kCache, .phase = phase,
                .dims = {{Dim::kPositions}}, .format = format != nullptr ? format : formats_.kv};
  tensor.dims.insert(tensor.dims.end(), dims.begin(), dims.end());
  return graph.add(std::move(tensor));
}

TensorId LayerBuilder::state(const char* name, DimList dims, const NumberFormat* format) {
  Tensor tensor{.name = name, .part = Part::kAttention, .lifetime = Lifetime::kCache, .phase = Phase::kAll,
                .dims = {{Dim::kRequests}}, .format = format};
  tensor.dims.insert(tensor.dims.end(), dims.begin(), dims.end());
  return graph.add(std::move(tensor));
}

TensorId LayerBuilder::norm(const char* name, TensorId x, std::int64_t carry) {
  Tensor out = graph.tensor(x);
  out.name = name;
  DimExtent last = out.dims.back();
  last.extent -= carry;
  const TensorId weight_id = weight("w_norm", Part::kNorm, {last}, {}, model_.formats.other);
  const TensorId result = graph.add(std::move(out));
  LogicalOp op{.kind = OpKind::kNorm, .name = name, .inputs = {x}, .weights = {weight_id}, .outputs = {result}};
  op.carry = {carry};
  graph.op(std::move(op));
  return result;
}

TensorId LayerBuilder::fused_norm(const char* name, TensorId x) {
  const TensorId result = norm(name, x);
  graph.ops.back().own_kernel = false;
  return result;
}

void LayerBuilder::norm_whole(TensorId& q, TensorId& k) {
  const TensorId squares =
      activation("qk_squares", Part::kAttention, {{Dim::kHeadDim, 2}}, graph.tensor(q).phase, find_format("fp32"));
  graph.op({.kind = OpKind::kSquares, .name = "qk_squares", .inputs = {q, k}, .outputs = {squares}});
  const auto normed = [&](TensorId x, const char* weight_name, const char* name, std::int64_t column) {
    Tensor out = graph.tensor(x);
    out.name = name;
    const TensorId w = vector(weight_name, Part::kAttention, DimList(out.dims.begin() + 1, out.dims.end()));
    const TensorId result = graph.add(std::move(out));
    LogicalOp op{.kind = OpKind::kNorm, .name = name, .inputs = {x, squares}, .weights = {w}, .outputs = {result}, .own_kernel = false};
    op.squares_column = column;
    graph.op(std::move(op));
    return result;
  };
  q = normed(q, "w_q_norm", "q_normed", 0);
  k = normed(k, "w_k_norm", "k_normed", 1);
}

IdList LayerBuilder::matmul(const char* name, TensorId x, IdList weights, NameList outputs, Part part, IdList biases) {
  ensure(weights.size() == outputs.size(), "one output per weight");
  IdList results;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Tensor& input = graph.tensor(x);
    const Tensor& matrix = graph.tensor(weights[i]);
    DimList dims;
    for (const DimExtent& d : matrix.dims) {
      const bool output = std::find(matrix.output_dims.begin(), matrix.output_dims.end(), d.dim) != matrix.output_dims.end();
      if (output) dims.push_back(d);
    }
    results.push_back(activation(outputs[i], part, dims, input.phase));
  }
  graph.op({.kind = OpKind::kMatmul, .name = name, .inputs = {x}, .weights = std::move(weights), .biases = std::move(biases), .outputs = results});
  return results;
}

TensorId LayerBuilder::matmul_into(const char* name, TensorId x, TensorId weight_id, TensorId output, std::int64_t carry) {
  LogicalOp op{.kind = OpKind::kMatmul, .name = name, .inputs = {x}, .weights = {weight_id}, .outputs = {output}};
  op.carry = {carry};
  graph.op(std::move(op));
  return output;
}

TensorId LayerBuilder::rotary(TensorId x, const char* name, std::int64_t columns) {
  Tensor out = graph.tensor(x);
  out.name = name;
  const TensorId result = graph.add(std::move(out));
  LogicalOp op{.kind = OpKind::kRotary, .name = "rotary", .inputs = {x}, .outputs = {result}, .own_kernel = false};
  op.rotary_columns = columns;
  graph.op(std::move(op));
  return result;
}

TensorId LayerBuilder::rotary_pair(TensorId q, TensorId k, const char* q_name, const char* k_name, std::int64_t columns,
                                   TensorId& k_out) {
  Tensor q_tensor = graph.tensor(q);
  Tensor k_tensor = graph.tensor(k);
  q_tensor.name = q_name;
  k_tensor.name = k_name;
  const TensorId q_out = graph.add(std::move(q_tensor));
  k_out = graph.add(std::move(k_tensor));
  LogicalOp op{.kind = OpKind::kRotary, .name = "rotary", .inputs = {q, k}, .weights = {}, .outputs = {q_out, k_out}};
  op.rotary_columns = columns;
  graph.op(std::move(op));
  return q_out;
}

TensorId LayerBuilder::gate(const char* name, TensorId gate_id, TensorId value, ElementFunction function) {
  Tensor out = graph.tensor(value);
  out.name = name;
  out.phase = graph.tensor(gate_id).phase;
  const TensorId result = graph.add(std::move(out));
  LogicalOp op{.kind = OpKind::kActivate, .name = name, .inputs = {gate_id, value}, .weights = {}, .outputs = {result}};
  op.function = function;
  graph.op(std::move(op));
  return result;
}

TensorId LayerBuilder::add_residual(const char* name, TensorId x, TensorId branch) {
  Tensor out = graph.tensor(x);
  out.name = name;
  out.part = Part::kResidual;
  const TensorId result = graph.add(std::move(out));
  graph.op({.kind = OpKind::kAdd, .name = name, .inputs = {x, branch}, .weights = {}, .outputs = {result},
            .own_kernel = false});
  return result;
}

TensorId LayerBuilder::split(const char* name, TensorId x, Phase phase) {
  Tensor out = graph.tensor(x);
  out.name = name;
  out.phase = phase;
  const TensorId result = graph.add(std::move(out));
  graph.op({.kind = OpKind::kSplit, .name = name, .inputs = {x}, .weights = {}, .outputs = {result},
            .own_kernel = false});
  return result;
}

TensorId LayerBuilder::join(const char* name, TensorId decode, TensorId prefill) {
  if (!is_mixed()) return has_decode() ? decode : prefill;
  Tensor out = graph.tensor(decode);
  out.name = name;
  out.phase = Phase::kAll;
  const TensorId result = graph.add(std::move(out));
  graph.op({.kind = OpKind::kJoin, .name = name, .inputs = {decode, prefill}, .weights = {}, .outputs = {result},
            .own_kernel = false});
  return result;
}

void LayerBuilder::append(IdList fresh, IdList caches) {
  graph.op({.kind = OpKind::kAppend, .name = "cache_write", .inputs = std::move(fresh), .weights = {},
            .outputs = std::move(caches), .own_kernel = true, .attention = {}, .experts = {}});
}

TensorId LayerBuilder::prefix(const char* name, TensorId cache_id) {
  Tensor out = graph.tensor(cache_id);
  out.name = name;
  out.lifetime = Lifetime::kActivation;
  const TensorId result = graph.add(std::move(out));
  graph.op({.kind = OpKind::kPrefix, .name = name, .inputs = {cache_id}, .weights = {}, .outputs = {result},
            .own_kernel = false});
  return result;
}

}  // namespace shardplan
