// Routed experts as one grouped product after another: tiles per expert, only the experts with a row read.
#include <algorithm>
#include <array>
#include <cmath>

#include "costmodel/kernels/kernel_forms.h"
#include "costmodel/kernels/waves.h"

namespace shardplan {
namespace {

enum Parameter { kT0, kEc, kEm, kP, kCov, kCa, kCt, kCr, kCact, kCeil, kBhalf, kHost };

constexpr double kColumns = 128;
constexpr double kHalfFill = 20e6;

double product_us(double tiles, double rows, double n, double k, const KernelDevice& d, const double* c) {
  const double per_tile = k * 2 * rows * kColumns / (d.flops_per_us / d.sms * c[kEc]) * (1 + c[kCr] * 16 / rows) + c[kCov];
  return waves(tiles * std::ceil(n / kColumns), d.sms, c[kCeil]) * per_tile;
}

}  // namespace

double grouped_gemm_us(const ExpertsShape& s, const KernelDevice& d, const double* c) {
  double compute = 1e300;
  for (std::size_t i = 0; i < kGroupTiles.size(); ++i) {
    const double rows = kGroupTiles[i];
    const double up = product_us(s.tiles[i], rows, (s.matrices - 1) * s.width, s.hidden, d, c);
    const double down = product_us(s.tiles[i], rows, s.hidden, s.width, d, c);
    compute = std::min(compute, up + down);
  }
  double bytes = s.active * s.matrices * s.hidden * s.width * s.weight_bytes;
  bytes += c[kCa] * (s.rows * 2 * (2 * s.hidden + s.matrices * s.width) + 4 * s.tokens * s.hidden);
  bytes += c[kBhalf] * 1e6 * bytes / (bytes + kHalfFill);
  const double memory = bytes / (d.bytes_per_us * c[kEm]);
  const double routed = c[kCt] * s.tokens * s.per_token * s.hidden * 2 / d.bytes_per_us;
  return c[kT0] + (s.captured ? 0 : c[kHost]) + c[kCact] * s.experts * 0.01 + routed + joined(compute, memory, c[kP]);
}

}  // namespace shardplan
