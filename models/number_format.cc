#include "models/number_format.h"

#include <algorithm>
#include <string>

#include "base/errors.h"
#include "base/suggest.h"
#include "models/in_quotes.h"

namespace shardplan {
namespace {

std::vector<std::string> format_names(bool kv_only) {
  std::vector<std::string> names;
  for (const NumberFormat& format : number_formats()) {
    if (!kv_only || format.kv_cache) names.emplace_back(format.name);
  }
  return names;
}

}  // namespace

const std::vector<NumberFormat>& number_formats() {
  // The _a16 rows store what their namesake stores and leave activations in bf16. gpt-oss reads as
  // mxfp4_a16: its config.json quantises no activations, and Hopper has no fp4 products; mxfp4 is
  // for engines that quantise activations on the fly on Blackwell.
  // clang-format off
  static const std::vector<NumberFormat> formats = {
      {.name = "bf16", .help = "16 bits, 8 of exponent", .bits = 16, .kv_cache = true},
      {.name = "fp16", .help = "16 bits, 5 of exponent; same rates as bf16", .bits = 16, .kv_cache = true},
      {.name = "fp32", .help = "32 bits, stored; products run in bf16", .bits = 32},
      {.name = "fp8", .help = "E4M3, one fp32 scale per tensor",
       .bits = 8, .tensor_scale_bytes = 4, .math = MathFormat::kFp8, .kv_cache = true},
      {.name = "fp8_block", .help = "E4M3, one fp32 scale per 128x128 block (DeepSeek-V3)",
       .bits = 8, .block_rows = 128, .block_columns = 128, .scale_bytes = 4, .math = MathFormat::kFp8},
      {.name = "fp8_channel", .help = "E4M3, one fp32 scale per output row",
       .bits = 8, .block_rows = 1, .scale_bytes = 4, .math = MathFormat::kFp8},
      {.name = "fp8_ds_mla", .help = "a latent of sparse MLA: 512 in E4M3 with 4 scales, 64 in bf16; 656 bytes for 576",
       .bits = 8, .block_rows = 1, .block_columns = 576, .scale_bytes = 80, .math = MathFormat::kFp8, .kv_cache = true},
      {.name = "fp8_ds_v4", .help = "a key or entry of DeepSeek-V4: 448 in E4M3 with 7 scales, 64 in bf16; 584 bytes for 512",
       .bits = 8, .block_rows = 1, .block_columns = 512, .scale_bytes = 72, .math = MathFormat::kFp8, .kv_cache = true},
      {.name = "fp8_index", .help = "keys of an indexer: E4M3, one fp32 scale per 128",
       .bits = 8, .block_rows = 1, .block_columns = 128, .scale_bytes = 4, .math = MathFormat::kFp8},
      {.name = "nvfp4", .help = "E2M1, 16 columns share one E4M3 scale, one fp32 per tensor",
       .bits = 4, .block_rows = 1, .block_columns = 16, .scale_bytes = 1, .tensor_scale_bytes = 4,
       .math = MathFormat::kFp4, .kv_cache = true},
      {.name = "nvfp4_a16", .help = "as nvfp4, activations stay bf16",
       .bits = 4, .block_rows = 1, .block_columns = 16, .scale_bytes = 1, .tensor_scale_bytes = 4, .weight_only = true},
      {.name = "mxfp4", .help = "E2M1, 32 columns share one E8M0 scale; activations in fp4 too",
       .bits = 4, .block_rows = 1, .block_columns = 32, .scale_bytes = 1, .math = MathFormat::kFp4},
      {.name = "mxfp4_a16", .help = "as mxfp4, activations stay bf16 (gpt-oss)",
       .bits = 4, .block_rows = 1, .block_columns = 32, .scale_bytes = 1, .weight_only = true},
      {.name = "int8", .help = "8-bit integers, one fp32 scale per output row, activations in int8",
       .bits = 8, .block_rows = 1, .scale_bytes = 4, .math = MathFormat::kInt8},
      {.name = "int8_a16", .help = "as int8, activations stay bf16",
       .bits = 8, .block_rows = 1, .scale_bytes = 4, .weight_only = true},
      {.name = "int4_g128", .help = "4-bit integers, 128 columns share one 16-bit scale, activations stay bf16",
       .bits = 4, .block_rows = 1, .block_columns = 128, .scale_bytes = 2, .weight_only = true},
      {.name = "int4_g64", .help = "as int4_g128, 64 columns share a scale",
       .bits = 4, .block_rows = 1, .block_columns = 64, .scale_bytes = 2, .weight_only = true},
      {.name = "int4_g32", .help = "as int4_g128, 32 columns share a scale (Kimi-K2.5)",
       .bits = 4, .block_rows = 1, .block_columns = 32, .scale_bytes = 2, .weight_only = true},
  };
  // clang-format on
  return formats;
}

Bytes NumberFormat::bytes(std::int64_t rows, std::int64_t columns) const {
  constexpr const char* kWhat = "a weight matrix";
  const std::int64_t data_bits = checked_multiply(checked_multiply(rows, columns, kWhat), bits, kWhat);
  std::int64_t total = data_bits / 8 + (data_bits % 8 != 0 ? 1 : 0);
  if (block_rows > 0) {
    const std::int64_t across = block_columns > 0 ? ceil_div(columns, block_columns) : 1;
    const std::int64_t blocks = checked_multiply(ceil_div(rows, block_rows), across, kWhat);
    total = checked_add(total, checked_multiply(blocks, scale_bytes, kWhat), kWhat);
  }
  return Bytes(checked_add(total, tensor_scale_bytes, kWhat));
}

double NumberFormat::bytes_per_element() const {
  const double data = bits / 8.0;
  if (block_rows == 0 || block_columns == 0) return data;
  return data + static_cast<double>(scale_bytes) / (static_cast<double>(block_rows) * block_columns);
}

const NumberFormat* find_format(std::string_view name) {
  const auto& formats = number_formats();
  const auto it =
      std::find_if(formats.begin(), formats.end(), [&](const NumberFormat& format) { return format.name == name; });
  return it == formats.end() ? nullptr : &*it;
}

const NumberFormat& require_format(std::string_view name, std::string_view where) {
  if (const NumberFormat* format = find_format(name)) return *format;
  throw InputError(std::string(where), "unknown number format " + in_quotes(name),
                   nearest_hint(name, format_names(false)));
}

const NumberFormat& require_kv_format(std::string_view name, std::string_view where) {
  const NumberFormat* format = find_format(name);
  if (format != nullptr && format->kv_cache) return *format;
  throw InputError(std::string(where), in_quotes(name) + " is no format of a cache",
                   nearest_hint(name, format_names(true)));
}

}  // namespace shardplan
