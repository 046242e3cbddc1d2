#include "calibrate/kernels/kernels.h"

#include "calibrate/kernels/elementwise.h"
#include "calibrate/kernels/matmul.h"
#include "calibrate/kernels/norm.h"
#include "calibrate/kernels/rotary.h"
#include "calibrate/kernels/vocabulary.h"

namespace shardplan {

void Kernels::matmul(const LocalArray& x, const LocalArray& w, std::int64_t carry, LocalArray& out) const {
  shardplan::matmul(x, w, carry, out);
}

void Kernels::rms_norm(const LocalArray& x, const LocalArray& weight, std::int64_t carry, LocalArray& out) const {
  shardplan::rms_norm(x, weight, carry, out);
}

void Kernels::rotary(const LocalArray& x, std::int64_t columns, LocalArray& out) const { shardplan::rotary(x, columns, out); }

void Kernels::activate(const std::vector<const LocalArray*>& inputs, ElementFunction function, LocalArray& out) const {
  shardplan::activate(inputs, function, out);
}

std::unique_ptr<BlockAttention> Kernels::attention(const AttentionTask& task, const LocalArray& q, const LocalArray& out) const {
  return std::make_unique<OnlineAttention>(task, q, out);
}

void Kernels::route(const LocalArray& x, const RouterWeights& router, const ExpertsOp& op, const Chooser& chooser, LocalArray& routing) const {
  shardplan::route(x, router, op, chooser, routing);
}

void Kernels::experts(const LocalArray& x, const LocalArray& routing, const ExpertWeights& held, const ExpertsOp& op, LocalArray& out) const {
  shardplan::experts(x, routing, held, op, out);
}

void Kernels::sample(const LocalArray& logits, const Chooser& chooser, LocalArray& token_ids) const { shardplan::sample(logits, chooser, token_ids); }

std::vector<float> Kernels::take_rows(const LocalArray& x, const std::vector<std::int64_t>& rows) const { return shardplan::take_rows(x, rows); }

void Kernels::add_rows(const std::vector<float>& values, const std::vector<std::int64_t>& rows, LocalArray& to) const {
  shardplan::add_rows(values, rows, to);
}

const Kernels& host_kernels() {
  static const Kernels kHost;
  return kHost;
}

}  // namespace shardplan
