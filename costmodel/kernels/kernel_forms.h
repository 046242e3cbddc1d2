// Closed forms of kernel times: pure functions of a shape, a machine and fitted parameters.
//
// All are sums of a launch and a p-norm of what the arithmetic and what the memory take, so that none is faster than
// either at the datasheet's peak. Source of the forms: fits of public kernel tables; see docs/model_of_cost.md.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "hwprofiles/kernel_model.h"

namespace shardplan {

// One device as a kernel of one arithmetic format sees it.
struct KernelDevice {
  double sms = 1;
  double flops_per_us = 1;
  double bytes_per_us = 1;
};

// [m, k] x [n, k]^T, `batch` times with weights of their own.
struct GemmShape {
  double m = 0;
  double n = 0;
  double k = 0;
  double batch = 1;
  double weight_bytes = 2;      // per element, scales included
  double input_bytes = 2;       // per element, as the product reads it
};

// `batch` prompts of `tokens` new tokens each; `keys` that each attends to in all, of which `pairs` query-key pairs are visible.
struct ContextShape {
  double batch = 0;
  double tokens = 0;            // per prompt
  double keys = 0;              // per prompt
  double pairs = 0;             // of one prompt and one head
  double heads = 0;
  double kv_heads = 0;
  double qk_dim = 0;
  double v_dim = 0;
  double key_bytes = 2;         // per element of K and V
  double window = 0;
};

// `batch` sequences with one query each over `positions` cached positions (within the window).
struct DecodeShape {
  double batch = 0;
  double positions = 0;         // per sequence
  double heads = 0;
  double kv_heads = 0;
  double qk_dim = 0;
  double v_dim = 0;
  double position_bytes = 0;    // K and V of one position and one KV head
};

inline constexpr std::array<int, 4> kGroupTiles{16, 32, 64, 128};   // rows of a tile of a grouped product

// The routed experts of one rank.
struct ExpertsShape {
  double tokens = 0;            // of the whole group, before top-k
  double per_token = 0;
  double experts = 0;           // of the layer
  double rows = 0;              // (token, expert) pairs on the rank
  double active = 0;            // local experts with a row
  std::array<double, kGroupTiles.size()> tiles{};   // sum over local experts of ceil(rows of it / tile rows)
  double hidden = 0;
  double width = 0;             // of one expert, as sharded
  double matrices = 3;          // 3 gated, 2 not
  double weight_bytes = 2;      // per element, scales included
  bool captured = false;        // launched from a graph
};

// Microseconds. Parameters in the order of form_parameters.
[[nodiscard]] double tile_gemm_us(const GemmShape& shape, const KernelDevice& device, const double* parameters,
                                  const std::vector<TileShape>& tiles);
// The separate quantisation of the input alone.
[[nodiscard]] double quantisation_us(const GemmShape& shape, const KernelDevice& device, const double* parameters);
[[nodiscard]] double context_attention_us(const ContextShape& shape, const KernelDevice& device, const double* parameters);
[[nodiscard]] double decode_attention_us(const DecodeShape& shape, const KernelDevice& device, const double* parameters);
[[nodiscard]] double grouped_gemm_us(const ExpertsShape& shape, const KernelDevice& device, const double* parameters);

}  // namespace shardplan
