// The executor's kernels on a GPU: operands are copied there and results back, so that every value can be compared.
//
// Products, attention, norm, rotary embedding, activations, routing, the products of routed experts, sampling and the rows of
// dispatch and combine run here; what is small, irregular or a view stays the host's, and what routing and sampling choose is held against the run
// that is followed there. Values are fp32, or bf16 operands of dense products with fp32 sums where the run stores bf16.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "calibrate/cuda/blaslt_product.h"
#include "calibrate/kernels/kernels.h"
#include "calibrate/storage.h"

namespace shardplan::cuda {

// Of the thread's device.
[[nodiscard]] int multiprocessors();

class CudaKernels : public Kernels {
 public:
  CudaKernels(Storage storage, int devices) : storage_(storage), devices_(devices) {}
  // Threads take devices in turn; from here on all of this process's take this one.
  void keep_to(int device) { own_device_ = device; }
  void matmul(const LocalArray& x, const LocalArray& w, std::int64_t carry, LocalArray& out) const override;
  void rms_norm(const LocalArray& x, const LocalArray& weight, std::int64_t carry, LocalArray& out) const override;
  void rotary(const LocalArray& x, std::int64_t columns, LocalArray& out) const override;
  void activate(const std::vector<const LocalArray*>& inputs, ElementFunction function, LocalArray& out) const override;
  void route(const LocalArray& x, const RouterWeights& router, const ExpertsOp& op, const Chooser& chooser, LocalArray& routing) const override;
  void experts(const LocalArray& x, const LocalArray& routing, const ExpertWeights& held, const ExpertsOp& op, LocalArray& out) const override;
  void sample(const LocalArray& logits, const Chooser& chooser, LocalArray& token_ids) const override;
  [[nodiscard]] std::vector<float> take_rows(const LocalArray& x, const std::vector<std::int64_t>& rows) const override;
  void add_rows(const std::vector<float>& values, const std::vector<std::int64_t>& rows, LocalArray& to) const override;
  [[nodiscard]] std::unique_ptr<BlockAttention> attention(const AttentionTask& task, const LocalArray& q, const LocalArray& out) const override;

 private:
  int take_device() const;
  const BlasLt& library(int device) const;

  Storage storage_;
  int devices_;
  std::optional<int> own_device_;
  mutable std::mutex mutex_;
  mutable std::map<int, std::unique_ptr<BlasLt>> libraries_;   // by device, made when first needed
};

}  // namespace shardplan::cuda
