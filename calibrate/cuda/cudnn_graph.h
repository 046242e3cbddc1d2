// Operations on tensors as a graph of cuDNN's backend interface, and a plan that runs it.
//
// Tensors are known by their ids, from 1. A plan can be made for a device that is only described: then it cannot run,
// but which configurations the library has for it is known.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/cuda/cudnn_library.h"

namespace shardplan::cuda {

class CudnnDescriptor {
 public:
  CudnnDescriptor(const CudnnLibrary& library, cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor() { library_.destroy_descriptor(descriptor_); }
  CudnnDescriptor(const CudnnDescriptor&) = delete;
  CudnnDescriptor& operator=(const CudnnDescriptor&) = delete;

  [[nodiscard]] cudnnBackendDescriptor_t get() const { return descriptor_; }
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values);
  void link(cudnnBackendAttributeName_t name, const CudnnDescriptor& other);
  void finalize(const char* what);

 private:
  const CudnnLibrary& library_;
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};
using CudnnDescriptorPtr = std::unique_ptr<CudnnDescriptor>;

// What plans are made for.
[[nodiscard]] CudnnDescriptorPtr cudnn_device(const CudnnLibrary& library, cudnnHandle_t handle);
[[nodiscard]] CudnnDescriptorPtr cudnn_device(const CudnnLibrary& library, const std::string& described);  // as JSON

using CudnnDims = std::vector<std::int64_t>;
// Of a tensor without gaps, the last dimension innermost.
[[nodiscard]] CudnnDims packed_strides(const CudnnDims& dims);

class CudnnGraph {
 public:
  explicit CudnnGraph(const CudnnLibrary& library) : library_(library) {}

  // In memory; between two operations only; one number of the host.
  std::int64_t tensor(const CudnnDims& dims, const CudnnDims& strides, cudnnDataType_t type);
  std::int64_t between(const CudnnDims& dims, cudnnDataType_t type);
  std::int64_t number(cudnnDataType_t type);

  struct Pointwise {
    cudnnPointwiseMode_t mode = CUDNN_POINTWISE_IDENTITY;
    std::int64_t x = 0;
    std::int64_t b = 0;  // 0: none
    std::int64_t t = 0;  // chooses between x and b; 0: none
    std::int64_t axis = -1;
    cudnnDataType_t math = CUDNN_DATA_FLOAT;
  };
  void pointwise(const Pointwise& operation, std::int64_t y);
  void matmul(std::int64_t a, std::int64_t b, std::int64_t c);
  void reduce(cudnnReduceTensorOp_t operation, std::int64_t x, std::int64_t y);
  // One operation whose operands are given by the attributes' names.
  void operation(cudnnBackendDescriptorType_t type,
                 const std::vector<std::pair<cudnnBackendAttributeName_t, std::int64_t>>& operands);
  // Nothing is added after this.
  void finish();
  [[nodiscard]] const CudnnDescriptor& get() const { return *graph_; }
  // Of a tensor, by its id.
  [[nodiscard]] const CudnnDescriptor& at(std::int64_t id) const { return *tensors_[static_cast<std::size_t>(id - 1)]; }

 private:
  CudnnDescriptor& add(cudnnBackendDescriptorType_t type);
  std::int64_t add_tensor(const CudnnDims& dims, const CudnnDims& strides, cudnnDataType_t type, bool is_virtual,
                          bool is_value);

  const CudnnLibrary& library_;
  std::vector<CudnnDescriptorPtr> tensors_;  // by id - 1
  std::vector<CudnnDescriptorPtr> others_;
  std::vector<cudnnBackendDescriptor_t> operations_;
  CudnnDescriptorPtr graph_;
};

// Those that the device can run, the library's favourite first; none where the library knows no kernel for the graph.
[[nodiscard]] std::vector<CudnnDescriptorPtr> cudnn_configurations(const CudnnLibrary& library, const CudnnGraph& graph,
                                                                   const CudnnDescriptor& device);

// Where each tensor lies: device memory, and host memory of numbers, which stays until the last run.
[[nodiscard]] CudnnDescriptorPtr cudnn_operands(const CudnnLibrary& library,
                                                const std::vector<std::pair<std::int64_t, void*>>& pointers,
                                                void* workspace);

class CudnnPlan {
 public:
  // CudnnError when the configuration cannot be built.
  CudnnPlan(const CudnnLibrary& library, const CudnnDescriptor& configuration, const CudnnDescriptor& device);
  [[nodiscard]] std::int64_t workspace_bytes() const { return workspace_bytes_; }
  // On the handle's stream.
  void run(cudnnHandle_t handle, const CudnnDescriptor& operands) const;

 private:
  const CudnnLibrary& library_;
  CudnnDescriptor plan_;
  std::int64_t workspace_bytes_ = 0;
};

}  // namespace shardplan::cuda
