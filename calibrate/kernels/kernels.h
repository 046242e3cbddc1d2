// The computing kernels behind the executor, one method each: the host's are in this folder, a device's override them.
//
// Arrays are in host memory on both sides; a device copies what it needs. Contracts are those of the host's functions.
#pragma once

#include <memory>
#include <vector>

#include "calibrate/kernels/attention.h"
#include "calibrate/kernels/chooser.h"
#include "calibrate/kernels/moe.h"
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
  virtual void route(const LocalArray& x, const RouterWeights& router, const ExpertsOp& op, const Chooser& chooser, LocalArray& routing) const;
  virtual void experts(const LocalArray& x, const LocalArray& routing, const ExpertWeights& held, const ExpertsOp& op, LocalArray& out) const;
  virtual void sample(const LocalArray& logits, const Chooser& chooser, LocalArray& token_ids) const;
  // What a dispatch sends to one rank: `rows` of x, by their place along its first dimension, one below the other.
  [[nodiscard]] virtual std::vector<float> take_rows(const LocalArray& x, const std::vector<std::int64_t>& rows) const;
  // What a combine does with a message: row i of `values` is added to row rows[i] of `to`.
  virtual void add_rows(const std::vector<float>& values, const std::vector<std::int64_t>& rows, LocalArray& to) const;
};

// The host's.
[[nodiscard]] const Kernels& host_kernels();

}  // namespace shardplan
