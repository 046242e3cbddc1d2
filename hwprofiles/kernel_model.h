// Fitted kernel models as data: which closed form, its parameters, and how well they held out of sample.
//
// The forms are in costmodel/kernels/; here are only the names and the ranges of their parameters, which the reader of
// profiles and the fit share. Times are in microseconds, sizes in bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardplan {

enum class KernelForm : std::uint8_t { kTileGemm, kContextAttention, kDecodeAttention, kGroupedGemm };

struct ParameterSpec {
  std::string_view name;
  double low = 0;      // > 0: fits move in its logarithm
  double high = 0;
  double start = 0;
  double neutral = 0;  // where a profile leaves it out: no such effect, or the start
  std::string_view help;
};

[[nodiscard]] std::string_view form_name(KernelForm form);                            // "tile_gemm", ...
[[nodiscard]] const std::vector<ParameterSpec>& form_parameters(KernelForm form);
[[nodiscard]] const std::vector<std::string>& form_names();
[[nodiscard]] const KernelForm* find_form(std::string_view name);

// 10th and 90th percentile of measured/predicted, of shapes that the fit did not see.
struct Spread {
  double p10 = 1;
  double p90 = 1;
};

// Held-out spread of the samples with x in [from, next regime's from), x being rows (GEMM, grouped GEMM: tokens),
// new tokens (context attention) or positions in all (decode attention).
struct RegimeSpread {
  double from = 0;
  Spread spread;
};

struct FitRecord {
  std::string on;                 // what it was fitted on
  std::int64_t points = 0;
  double held_out_median = 0;     // of |log(measured/predicted)|; 0: nothing was held out
  double held_out_mean = 0;
};

struct TileShape {
  int rows = 0;
  int columns = 0;
  double up_to_rows = 0;          // the kernel dispatches on M: this tile is taken up to so many rows; 0: free choice
};

struct KernelModel {
  std::string key;                       // of its row: "gemm.fp8"
  KernelForm form = KernelForm::kTileGemm;
  std::vector<double> parameters;        // in the order of form_parameters
  std::vector<TileShape> tiles;          // kTileGemm
  FitRecord fit;
  Spread spread;
  std::vector<RegimeSpread> regimes;     // ascending
  std::string transferred_from;          // another machine's row, scaled by datasheet ratios; empty: fitted here
};

// How rows of coefficients call a number format: by the arithmetic and the width, "int4" for "int4_g128".
[[nodiscard]] std::string_view row_format(std::string_view format);

// The spread of the regime that `x` falls in.
[[nodiscard]] Spread spread_at(const KernelModel& model, double x);

}  // namespace shardplan
