// Kernel prices of one machine, remembered: configurations share their products, so each (model row, shape) is tabulated
// once over the number of rows and looked up in nanoseconds after that. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "costmodel/expert_load.h"
#include "costmodel/kernels/kernel_forms.h"
#include "hwprofiles/profile.h"

namespace shardplan {

struct KernelOptions {
  std::vector<std::string> libraries;     // whose rows are taken where the profile has them, first to last: "trtllm"
  bool quantisation_apart = false;        // the activations are quantised by a kernel of their own before each product
  int symmetric_from_ranks = 0;           // groups from so many ranks on register their buffers with NCCL; 0: none does
};

// Microseconds over a count of rows: grid points per octave from 1 to 2^17, a straight line between them and beyond. Never falls.
class RowCurve {
 public:
  RowCurve(int points_per_octave, const std::function<double(double)>& us);
  [[nodiscard]] double us(double rows) const;

 private:
  int per_octave_;
  std::vector<double> values_;
};

// Microseconds over two counts, both from 1: a point is computed when it is first asked for, and between points the value is
// linear in both. Thread-safe.
class PlaneCurve {
 public:
  explicit PlaneCurve(std::function<double(double, double)> us);
  [[nodiscard]] double us(double x, double y) const;

 private:
  [[nodiscard]] double at(std::size_t i, std::size_t j) const;
  std::function<double(double, double)> direct_;
  mutable std::vector<std::atomic<float>> values_;   // 0: not yet known
};

// Attention on the rank, but for the batch.
struct AttentionShape {
  double heads = 0;             // of queries, on the rank; 0: not attention
  double kv_heads = 1;
  double qk_dim = 0;
  double v_dim = 0;
  double window = 0;
  double position_bytes = 0;    // K and V of one position and one KV head
  bool latent = false;          // MLA
};

class KernelPricer {
 public:
  KernelPricer(const HardwareProfile& hardware, KernelOptions options);
  ~KernelPricer();
  [[nodiscard]] const KernelOptions& options() const;

  // The fitted row for a family ("gemm") and format ("fp8"), `variant` (".d128", ...) closest of those there are; of the asked
  // source where there is one. nullptr: the profile has none, a roofline must do.
  [[nodiscard]] const KernelModel* model(const std::string& family, const std::string& format) const;
  [[nodiscard]] const KernelModel* attention_model(const std::string& family, const std::string& format, const AttentionShape& shape) const;

  // Curves over rows (tokens of the EP group for experts); live as long as the pricer. `shape.m` and loads are ignored.
  [[nodiscard]] const RowCurve& gemm(const KernelModel& model, const GemmShape& shape, const KernelDevice& device) const;
  // Over sequences and positions of each.
  [[nodiscard]] const PlaneCurve& decode_attention(const KernelModel& model, const AttentionShape& shape, const KernelDevice& device) const;
  [[nodiscard]] const RowCurve& experts(const KernelModel& model, const ExpertsShape& shape, const ExpertLoadModel& load,
                                        const KernelDevice& device) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shardplan
