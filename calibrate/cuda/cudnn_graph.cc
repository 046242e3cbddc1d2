#include "calibrate/cuda/cudnn_graph.h"

namespace shardplan::cuda {
namespace {

constexpr std::int64_t kAlignment = 16;  // bytes, of every tensor

}  // namespace

CudnnDescriptor::CudnnDescriptor(const CudnnLibrary& library, cudnnBackendDescriptorType_t type) : library_(library) {
  library_.check(library_.create_descriptor(type, &descriptor_), "descriptor");
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                          const void* values) {
  library_.check(library_.set_attribute(descriptor_, name, type, count, values),
                 ("attribute " + std::to_string(static_cast<int>(name))).c_str());
}

void CudnnDescriptor::link(cudnnBackendAttributeName_t name, const CudnnDescriptor& other) {
  const cudnnBackendDescriptor_t descriptor = other.get();
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &descriptor);
}

void CudnnDescriptor::finalize(const char* what) { library_.check(library_.finalize(descriptor_), what); }

CudnnDescriptorPtr cudnn_device(const CudnnLibrary& library, cudnnHandle_t handle) {
  auto device = std::make_unique<CudnnDescriptor>(library, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  device->set(CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  device->finalize("device");
  return device;
}

CudnnDescriptorPtr cudnn_device(const CudnnLibrary& library, const std::string& described) {
  auto device = std::make_unique<CudnnDescriptor>(library, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  device->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, static_cast<std::int64_t>(described.size()),
              described.data());
  device->finalize("device");
  return device;
}

CudnnDims packed_strides(const CudnnDims& dims) {
  CudnnDims strides(dims.size(), 1);
  for (std::size_t d = dims.size(); d > 1; --d) strides[d - 2] = strides[d - 1] * dims[d - 1];
  return strides;
}

CudnnDescriptor& CudnnGraph::add(cudnnBackendDescriptorType_t type) {
  return *others_.emplace_back(std::make_unique<CudnnDescriptor>(library_, type));
}

std::int64_t CudnnGraph::add_tensor(const CudnnDims& dims, const CudnnDims& strides, cudnnDataType_t type,
                                    bool is_virtual, bool is_value) {
  CudnnDescriptor& tensor =
      *tensors_.emplace_back(std::make_unique<CudnnDescriptor>(library_, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  const auto id = static_cast<std::int64_t>(tensors_.size());
  const auto rank = static_cast<std::int64_t>(dims.size());
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, rank, dims.data());
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, rank, strides.data());
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &kAlignment);
  tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
  tensor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &is_value);
  tensor.finalize("tensor");
  return id;
}

std::int64_t CudnnGraph::tensor(const CudnnDims& dims, const CudnnDims& strides, cudnnDataType_t type) {
  return add_tensor(dims, strides, type, false, false);
}

std::int64_t CudnnGraph::between(const CudnnDims& dims, cudnnDataType_t type) {
  return add_tensor(dims, packed_strides(dims), type, true, false);
}

std::int64_t CudnnGraph::number(cudnnDataType_t type) {
  return add_tensor({1, 1, 1, 1}, {1, 1, 1, 1}, type, false, true);
}

void CudnnGraph::operation(cudnnBackendDescriptorType_t type,
                           const std::vector<std::pair<cudnnBackendAttributeName_t, std::int64_t>>& operands) {
  CudnnDescriptor& made = add(type);
  for (const auto& [name, id] : operands) {
    if (id > 0) made.link(name, at(id));
  }
  made.finalize("operation");
  operations_.push_back(made.get());
}

void CudnnGraph::pointwise(const Pointwise& p, std::int64_t y) {
  CudnnDescriptor& mode = add(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  mode.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &p.mode);
  mode.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &p.math);
  if (p.axis >= 0) mode.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &p.axis);
  mode.finalize("pointwise");
  CudnnDescriptor& made = add(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  made.link(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, mode);
  made.link(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, at(p.x));
  if (p.b > 0) made.link(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, at(p.b));
  if (p.t > 0) made.link(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, at(p.t));
  made.link(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, at(y));
  made.finalize("pointwise operation");
  operations_.push_back(made.get());
}

void CudnnGraph::matmul(std::int64_t a, std::int64_t b, std::int64_t c) {
  const cudnnDataType_t math = CUDNN_DATA_FLOAT;
  CudnnDescriptor& kind = add(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  kind.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &math);
  kind.finalize("product");
  CudnnDescriptor& made = add(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  made.link(CUDNN_ATTR_OPERATION_MATMUL_ADESC, at(a));
  made.link(CUDNN_ATTR_OPERATION_MATMUL_BDESC, at(b));
  made.link(CUDNN_ATTR_OPERATION_MATMUL_CDESC, at(c));
  made.link(CUDNN_ATTR_OPERATION_MATMUL_DESC, kind);
  made.finalize("product");
  operations_.push_back(made.get());
}

void CudnnGraph::reduce(cudnnReduceTensorOp_t operation, std::int64_t x, std::int64_t y) {
  const cudnnDataType_t math = CUDNN_DATA_FLOAT;
  CudnnDescriptor& kind = add(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  kind.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &operation);
  kind.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &math);
  kind.finalize("reduction");
  CudnnDescriptor& made = add(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  made.link(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, at(x));
  made.link(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, at(y));
  made.link(CUDNN_ATTR_OPERATION_REDUCTION_DESC, kind);
  made.finalize("reduction");
  operations_.push_back(made.get());
}

void CudnnGraph::finish() {
  graph_ = std::make_unique<CudnnDescriptor>(library_, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph_->set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
              static_cast<std::int64_t>(operations_.size()), operations_.data());
  graph_->finalize("graph");
}

std::vector<CudnnDescriptorPtr> cudnn_configurations(const CudnnLibrary& library, const CudnnGraph& graph,
                                                     const CudnnDescriptor& device) {
  const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  CudnnDescriptor heuristic(library, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.link(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.get());
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  heuristic.link(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, device);
  if (library.finalize(heuristic.get()) != CUDNN_STATUS_SUCCESS) return {};  // no kernel for the graph
  std::int64_t count = 0;
  library.check(library.get_attribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0,
                                      &count, nullptr),
                "number of configurations");
  std::vector<CudnnDescriptorPtr> configurations;
  std::vector<cudnnBackendDescriptor_t> to_fill;
  for (std::int64_t i = 0; i < count; ++i) {
    configurations.push_back(std::make_unique<CudnnDescriptor>(library, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
    to_fill.push_back(configurations.back()->get());
  }
  std::int64_t filled = 0;
  library.check(library.get_attribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                      count, &filled, to_fill.data()),
                "configurations");
  configurations.resize(static_cast<std::size_t>(filled));
  return configurations;
}

CudnnPlan::CudnnPlan(const CudnnLibrary& library, const CudnnDescriptor& configuration, const CudnnDescriptor& device)
    : library_(library), plan_(library, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
  plan_.link(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  plan_.link(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, device);
  plan_.finalize("plan");
  std::int64_t count = 0;
  library.check(library.get_attribute(plan_.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                                      &count, &workspace_bytes_),
                "workspace");
}

CudnnDescriptorPtr cudnn_operands(const CudnnLibrary& library,
                                  const std::vector<std::pair<std::int64_t, void*>>& pointers, void* workspace) {
  std::vector<std::int64_t> ids;
  std::vector<void*> places;
  for (const auto& [id, place] : pointers) {
    ids.push_back(id);
    places.push_back(place);
  }
  const auto count = static_cast<std::int64_t>(ids.size());
  auto operands = std::make_unique<CudnnDescriptor>(library, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  operands->set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids.data());
  operands->set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, places.data());
  operands->set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  operands->finalize("operands");
  return operands;
}

void CudnnPlan::run(cudnnHandle_t handle, const CudnnDescriptor& operands) const {
  library_.check(library_.execute(handle, plan_.get(), operands.get()), "attention");
}

}  // namespace shardplan::cuda
