// Attention: thread blocks of 128 query rows (context), or of a KV head's part of the positions (decode).
#include <algorithm>
#include <cmath>

#include "costmodel/kernels/kernel_forms.h"
#include "costmodel/kernels/waves.h"

namespace shardplan {
namespace {

enum ContextParameter { kT0, kEc, kEm, kP, kCov, kTail, kCb, kCeil, kTherm, kCl };
enum DecodeParameter { kDt0, kDem, kDp, kDcl, kBcta, kDcov, kCq, kCsp, kDceil, kTx, kEcta, kMhaSplit };

constexpr double kRows = 128;        // query rows of a block
constexpr double kPage = 128;        // positions that a block takes at a time

}  // namespace

double context_attention_us(const ContextShape& s, const KernelDevice& d, const double* c) {
  const double row_blocks = std::ceil(s.tokens / kRows);
  const double group = std::max(1.0, s.heads / s.kv_heads);
  // Short prompts are packed: the query heads that share a KV head fill a block's rows together.
  const double packed = std::ceil(s.tokens * group / kRows) * std::min(s.heads, s.kv_heads);
  const double blocks = s.batch * std::min(packed, row_blocks * s.heads);
  const double dims = 2 * (s.qk_dim + s.v_dim);
  const double padded_rows = row_blocks * kRows;
  const double visible = s.window > 0 ? std::min(s.keys, s.window + kRows) : s.keys;
  const double diagonal = s.window > 0 ? std::min(padded_rows * kRows, padded_rows * s.keys) : padded_rows * kRows / 2;
  const double rounded_pairs = s.pairs * (padded_rows / s.tokens) + diagonal;
  const double flops = dims * s.batch * s.heads * rounded_pairs;
  const double ideal_ms = flops / d.flops_per_us * 1e-3;
  const double therm = 1 + c[kTherm] * ideal_ms / (ideal_ms + 1);
  const double longest = dims * kRows * std::max(visible, kRows);
  const double compute = therm * (flops / (d.flops_per_us * c[kEc]) + c[kTail] * longest / (d.flops_per_us / d.sms * c[kEc])) +
                         c[kCov] * waves(blocks, d.sms, c[kCeil]);
  const double bytes = s.batch * (s.tokens * s.heads * (s.qk_dim + s.v_dim) * 2 + s.keys * s.kv_heads * (s.qk_dim + s.v_dim) * s.key_bytes);
  const double memory = bytes / (d.bytes_per_us * c[kEm]);
  return c[kT0] + c[kCb] * s.batch / 64 + c[kCl] * std::log2(1 + s.keys / kPage) + joined(compute, memory, c[kP]);
}

double decode_attention_us(const DecodeShape& s, const KernelDevice& d, const double* c) {
  const double group = std::max(1.0, s.heads / s.kv_heads);
  const double head_blocks = s.kv_heads * std::ceil(group / kRows * 2);     // at most 64 query heads in a block
  const double cache = s.batch * s.positions * s.kv_heads * s.position_bytes;
  const double queries = 2 * s.batch * s.heads * (s.qk_dim + s.v_dim);
  const double memory = (cache + c[kCq] * queries) / (d.bytes_per_us * c[kDem]);
  const double pages = std::max(1.0, std::ceil(s.positions / kPage));
  const double rows = std::min(64.0, std::max(16.0, group));
  const double page_flops = 2 * (s.qk_dim + s.v_dim) * kPage * rows / (d.flops_per_us / d.sms * c[kEcta]);
  const double page_us = joined(kPage * s.position_bytes / (c[kBcta] * 1e3), page_flops, 2.0);
  const double most = group > 1 || c[kMhaSplit] >= 0.5 ? 128 : 1;
  double blocks_us = 1e300;
  for (double split = 1; split <= most; split *= 2) {
    const double parts = std::min(split, pages);
    const double time = waves(s.batch * head_blocks * parts, d.sms, c[kDceil]) * (std::ceil(pages / parts) * page_us + c[kDcov]) +
                        (parts > 1 ? c[kCsp] * std::log2(2 * parts) : 0);
    blocks_us = std::min(blocks_us, time);
    if (parts < split) break;
  }
  const double regroup = group <= 1 ? 0 : s.kv_heads > 1 && s.batch > 1 ? 1 : 0.25;
  return c[kDt0] + c[kTx] * regroup + c[kDcl] * std::log2(1 + s.positions / kPage) + joined(blocks_us, memory, c[kDp]);
}

}  // namespace shardplan
