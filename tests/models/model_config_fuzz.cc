// Any bytes, read as a config.json with a hf_quant_config.json after the first zero byte, are a model
// whose counts can be taken, or an InputError.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/errors.h"
#include "models/model_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = text.find('\0');
  const std::string_view quantization = zero == std::string_view::npos ? "" : text.substr(zero + 1);
  try {
    shardplan::ModelSpec model = shardplan::read_model_config(text.substr(0, zero), quantization, "fuzz");
    (void)shardplan::count_active_parameters(model);
    (void)shardplan::weight_bytes(model);
    (void)shardplan::cache_bytes_per_token(model, *model.kv_format);
    (void)shardplan::state_bytes_per_request(model);
    (void)shardplan::flops_per_token(model, 8192);
    (void)shardplan::count_mtp_parameters(model);
    (void)shardplan::mtp_weight_bytes(model);
    (void)shardplan::mtp_cache_bytes_per_token(model, *model.kv_format);
    shardplan::override_weight_format(model, shardplan::require_format("nvfp4", "fuzz"));
    (void)shardplan::weight_bytes(model);
  } catch (const shardplan::InputError&) {  // the expected refusal
  }
  return 0;
}
