// How the numbers of a tensor are stored: element width and the scales beside them.
//
// bytes of a matrix [rows, columns] = rows*columns*bits/8
//   + ceil(rows/block_rows)*ceil(columns/block_columns)*scale_bytes + tensor_scale_bytes.
// Sources: OCP MX specification (mxfp4: 32 elements share one E8M0 byte), NVIDIA NVFP4 (16 elements
// share one E4M3 byte, one fp32 per tensor), DeepSeek-V3 (fp8, one fp32 per 128x128 block).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/quantity.h"

namespace shardplan {

// The arithmetic a matrix product runs in; a device has one peak for each.
enum class MathFormat { kBf16, kFp8, kFp4, kInt8 };

struct NumberFormat {
  std::string_view name;                // "bf16", "fp8", "fp8_block", "nvfp4", "mxfp4", "int4_g128", ...
  std::string_view help;                // one line for listings
  int bits = 16;                        // of one element
  int block_rows = 0;                   // output rows that share a scale; 0: no block scales
  int block_columns = 0;                // input columns that share a scale; 0 beside block_rows > 0: all of them
  int scale_bytes = 0;                  // of one block scale
  int tensor_scale_bytes = 0;           // once per tensor
  MathFormat math = MathFormat::kBf16;  // what its products run in where activations are quantised too
  bool weight_only = false;             // activations stay bf16: products run in bf16, weights are read at `bits`
  bool kv_cache = false;                // engines can keep K and V in it

  // Stored bytes of one [rows, columns] matrix, scales included.
  [[nodiscard]] Bytes bytes(std::int64_t rows, std::int64_t columns) const;
  // Bytes per element with the block scales spread out (for reading and shards), tensor scales left out.
  [[nodiscard]] double bytes_per_element() const;
};

// Every known format, for listings; find_format returns nullptr when the name is unknown.
[[nodiscard]] const std::vector<NumberFormat>& number_formats();
[[nodiscard]] const NumberFormat* find_format(std::string_view name);
// As find_format, or InputError naming the nearest known format.
[[nodiscard]] const NumberFormat& require_format(std::string_view name, std::string_view where);
// As require_format, for a cache: InputError unless engines can keep K and V in it.
[[nodiscard]] const NumberFormat& require_kv_format(std::string_view name, std::string_view where);

}  // namespace shardplan
