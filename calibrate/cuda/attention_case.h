// One attention to measure, and the measurement by cuDNN where the module is built with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "calibrate/device.h"

namespace shardplan::cuda {

// Requests of equal length whose last tokens ask, in bf16.
struct AttentionCase {
  std::int64_t batch = 0;
  std::int64_t tokens = 0;  // of each request
  std::int64_t length = 0;  // positions that the last one attends to
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t qk_dim = 0;
  std::int64_t v_dim = 0;
  std::int64_t window = 0;
  bool decode = false;
  bool shared_kv = false;  // values are the keys' first v_dim columns (absorbed MLA)
};

// nullopt where the library has no kernel for it (nor is one sought where values are keys), or there is no library.
// CudnnError (an EnvironmentError) when a call fails.
[[nodiscard]] std::optional<DeviceTiming> time_cudnn_attention(const AttentionCase& a, const StoppingRule& rule);
// "9.19.0"; "" without the library, and then why in one line.
[[nodiscard]] std::string cudnn_version(std::string* why);

}  // namespace shardplan::cuda
