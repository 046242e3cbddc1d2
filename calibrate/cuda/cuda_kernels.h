// The executor's kernels on a GPU: operands are copied there and results back, so that every value can be compared.
//
// Products of dense matrices, attention, norm and SwiGLU run here; what is small, irregular or a view stays the host's. Values
// are fp32, or bf16 operands with fp32 sums where the run stores bf16.
#pragma once

#include "calibrate/kernels/kernels.h"
#include "calibrate/storage.h"

namespace shardplan::cuda {

class CudaKernels : public Kernels {
 public:
  CudaKernels(Storage storage, int devices) : storage_(storage), devices_(devices) {}
  void matmul(const LocalArray& x, const LocalArray& w, std::int64_t carry, LocalArray& out) const override;
  void rms_norm(const LocalArray& x, const LocalArray& weight, std::int64_t carry, LocalArray& out) const override;
  void activate(const std::vector<const LocalArray*>& inputs, ElementFunction function, LocalArray& out) const override;
  [[nodiscard]] std::unique_ptr<BlockAttention> attention(const AttentionTask& task, const LocalArray& q, const LocalArray& out) const override;

 private:
  void take_device() const;   // the calling thread's, in turn

  Storage storage_;
  int devices_;
};

}  // namespace shardplan::cuda
