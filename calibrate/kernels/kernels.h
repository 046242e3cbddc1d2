// The computing kernels behind the executor, one method each: the host's are in this folder, a device's override them.
//
// Arrays are in host memory on both sides; a device copies what it needs. Contracts are those of the host's functions.
#pragma once

#include <memory>
#include <vector>

#include "calibrate/kernels/attention.h"
#include "calibrate/local_array.h"
#include "costmodel/logical_graph.h"

namespace shardplan {

class Kernels {
 public:
  virtual ~Kernels() = default;
  virtual void matmul(const LocalArray& x, const LocalArray& w, std::int64_t carry, LocalArray& out) const;
  virtual void rms_norm(const LocalArray& x, const LocalArray& weight, std::int64_t carry, LocalArray& out) const;
  virtual void rotary(const LocalArray& x, std::int64_t columns, LocalArray& out) const;
  virtual void activate(const std::vector<const LocalArray*>& inputs, ElementFunction function, LocalArray& out) const;
  [[nodiscard]] virtual std::unique_ptr<BlockAttention> attention(const AttentionTask& task, const LocalArray& q, const LocalArray& out) const;
  virtual void experts(const LocalArray& x, const LocalArray& routing, const std::vector<const LocalArray*>& weights, const ExpertsOp& op,
                       LocalArray& out) const;
};

// The host's.
[[nodiscard]] const Kernels& host_kernels();

}  // namespace shardplan
