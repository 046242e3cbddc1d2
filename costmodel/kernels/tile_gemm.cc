// Dense products: the library's choice of tile and split of k, in waves over the SMs; weights read once.
#include <algorithm>
#include <array>
#include <cmath>

#include "costmodel/kernels/kernel_forms.h"
#include "costmodel/kernels/waves.h"

namespace shardplan {
namespace {

enum Parameter { kT0, kEc, kEm, kP, kCov, kCred, kCw, kCeil, kCsm, kBhalf, kTherm, kQuantRow, kQuantByte };

constexpr std::array<double, 5> kSplits{1, 2, 4, 8, 16};
constexpr double kLeastDepth = 64;        // of k in one part of a split
constexpr double kHalfFill = 20e6;        // bytes at which half of `bhalf` counts

double blocks_of(const GemmShape& s, const TileShape& tile) {
  return std::ceil(s.m / tile.rows) * std::ceil(s.n / tile.columns) * s.batch;
}

// The least over splits of k for one tile.
double tile_us(const GemmShape& s, const KernelDevice& d, const double* c, const TileShape& tile) {
  const double blocks = blocks_of(s, tile);
  const double area = static_cast<double>(tile.rows) * tile.columns;
  const double per_k = 2 * area / (d.flops_per_us / d.sms * c[kEc]) +
                       c[kCsm] * 1e-3 * (tile.rows + tile.columns) * s.input_bytes / 128;
  const double cover = c[kCov] * std::sqrt(area / 16384);
  double best = 1e300;
  for (const double split : kSplits) {
    if (split > 1 && s.k / split < kLeastDepth) break;
    double time = waves(blocks * split, d.sms, c[kCeil]) * (s.k / split * per_k + cover);
    if (split > 1) time += c[kCred] + 8 * s.m * s.n * s.batch * split / (d.bytes_per_us * c[kEm]);
    best = std::min(best, time);
  }
  return best;
}

double compute_us(const GemmShape& s, const KernelDevice& d, const double* c, const std::vector<TileShape>& tiles) {
  double best = 1e300;
  for (const TileShape& tile : tiles) {
    if (tile.up_to_rows > 0 && s.m > tile.up_to_rows) continue;
    best = std::min(best, tile_us(s, d, c, tile));
    if (tile.up_to_rows > 0) break;          // dispatched on M: the first that holds the rows
  }
  const double ideal_ms = 2 * s.m * s.n * s.k * s.batch / d.flops_per_us * 1e-3;
  return best * (1 + c[kTherm] * ideal_ms / (ideal_ms + 1));
}

}  // namespace

double quantisation_us(const GemmShape& s, const KernelDevice& d, const double* c) {
  return c[kQuantRow] * 1e-3 * s.m + c[kQuantByte] * s.m * s.k * s.batch / d.bytes_per_us;
}

double tile_gemm_us(const GemmShape& s, const KernelDevice& d, const double* c, const std::vector<TileShape>& tiles) {
  double bytes = s.batch * (s.n * s.k * s.weight_bytes + s.m * s.k * s.input_bytes + 2 * c[kCw] * s.m * s.n);
  bytes += c[kBhalf] * 1e6 * bytes / (bytes + kHalfFill);
  const double memory = bytes / (d.bytes_per_us * c[kEm]);
  return c[kT0] + joined(compute_us(s, d, c, tiles), memory, c[kP]);
}

}  // namespace shardplan
