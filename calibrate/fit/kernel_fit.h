// Fitting one kernel family of one format: samples in, a KernelModel and how well it held on shapes it did not see out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hwprofiles/kernel_model.h"
#include "hwprofiles/profile.h"

namespace shardplan {

// Samples of one row of a profile. Parallel vectors, one entry per sample.
struct FitInput {
  std::string key;                           // "gemm.bf16", "attention_decode.fp8.d128", ...; "@backend" for another source
  std::string on;                            // "vllm 0.24.0 gemm_perf"
  KernelForm form = KernelForm::kTileGemm;
  std::vector<std::string> collectives;      // rows of "collectives" instead of a kernel: five parameters of each, in this order
  bool roofline = false;                     // no form: fixed cost in us, efficiencies of compute and memory
  std::size_t least_samples = 20;
  std::vector<TileShape> tiles;
  std::vector<double> start;                 // empty: the form's own
  std::vector<bool> held;                    // parameters that do not apply
  std::vector<double> microseconds;
  std::vector<std::size_t> cell;             // of the table that the sample comes from
  std::vector<std::uint64_t> shape;          // hash of the whole shape, for the held-out split
  std::vector<std::uint64_t> series;         // of one run over a swept variable; empty: slow series are not looked for
  double slow_beyond = 0;                    // > 0: what is slower than the form by more than this (logarithm) counts little
  std::vector<double> regime;                // x of RegimeSpread
  std::vector<double> regime_bounds;         // ascending `from`s
  std::function<double(std::size_t sample, const double* parameters)> predict;   // microseconds
  std::map<std::string, std::int64_t> dropped;   // why -> samples
};

struct FitOutcome {
  std::string key;
  std::vector<std::string> collectives;      // as of the input
  bool roofline = false;
  KernelModel model;
  double held_out_p90 = 0;                   // of |log(measured/predicted)|
  double bias = 0;                           // median of log(measured/predicted)
  std::int64_t held_out = 0;
  std::map<std::string, std::int64_t> dropped;
};

// The parameters that the input's form has.
[[nodiscard]] const std::vector<ParameterSpec>& parameters_of(const FitInput& input);

// Where a roofline's fit begins: half of the shortest time, and the best rates that a sample reached, which a solver that passes over
// what is off by a factor must not be far from. Arguments per sample; `device` gives the rates at efficiency 1.
[[nodiscard]] std::vector<double> roofline_start(const std::vector<double>& microseconds, const std::vector<double>& flops, const std::vector<double>& bytes,
                                                 double flops_per_us, double bytes_per_us);

// Needs the input's least samples; InputError otherwise.
[[nodiscard]] FitOutcome fit_kernel(const FitInput& input);

// Of the samples' series those that are slow as a whole: another tactic, not another size. By the median of measured over predicted.
using PredictedUs = std::function<double(std::size_t sample)>;
[[nodiscard]] std::set<std::uint64_t> slow_series(const FitInput& input, const std::vector<std::size_t>& samples, const PredictedUs& predicted);

// Whether a shape is held out: three of ten.
[[nodiscard]] bool is_held_out(std::uint64_t shape);
[[nodiscard]] std::uint64_t hash_of(const std::vector<double>& values);

}  // namespace shardplan
