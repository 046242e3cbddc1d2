// The time of a step by part, and factors on the parts: what an engine's kernels take relative to those the profile was
// fitted on.
//
// Parts are seconds of the busiest rank and add up to the step. A factor is 1 where the engine runs the profile's own
// kernel. Steps with prompts have two more: products hold a lower clock when they run for long, and engines without a
// captured graph of a prefill leave passes over the activations unfused. Both grow with the share of prompt tokens.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace shardplan {

enum class StepPart : std::uint8_t {
  kGemm,          // products with weights of the model's reduced format
  kGemmBf16,      // products with bf16 weights: router, head, all of an unquantised model
  kGrouped,       // experts' products: the part that grows with rows and experts
  kGroupedFixed,  // their fixed cost: permutation, launch, small-batch floor
  kAttentionPrefill,
  kAttentionDecode,
  kElementwise,  // norms, residuals, activations, cache writes, sampling
  kScan,         // recurrent layers
  kCollective,   // exposed communication
  kLaunch,       // fixed cost of products and attention: launch, prologue and drain, which the next kernel may overlap
};
inline constexpr std::size_t kStepParts = 10;
inline constexpr std::array<const char*, kStepParts> kStepPartNames{
    "gemm",        "gemm_bf16", "grouped",   "grouped_fixed", "attention_prefill", "attention_decode",
    "elementwise", "scan",      "collective", "launch"};
using StepParts = std::array<double, kStepParts>;

[[nodiscard]] constexpr std::size_t index_of(StepPart part) { return static_cast<std::size_t>(part); }

struct StepFactors {
  StepParts of{1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  double prefill_product = 1;      // of products, where all tokens are of prompts
  double prefill_elementwise = 1;  // of elementwise passes, likewise
};

// Factors of a step whose tokens are of prompts to a share of `prefill_ratio`.
[[nodiscard]] constexpr StepParts factors_at(const StepFactors& factors, double prefill_ratio) {
  StepParts out = factors.of;
  const double product = 1 + (factors.prefill_product - 1) * prefill_ratio;
  for (const StepPart part : {StepPart::kGemm, StepPart::kGemmBf16, StepPart::kGrouped, StepPart::kGroupedFixed}) {
    out[index_of(part)] *= product;
  }
  out[index_of(StepPart::kElementwise)] *= 1 + (factors.prefill_elementwise - 1) * prefill_ratio;
  return out;
}

[[nodiscard]] constexpr double weighted_sum(const StepParts& parts, const StepParts& weights) {
  double sum = 0;
  for (std::size_t i = 0; i < kStepParts; ++i) sum += parts[i] * weights[i];
  return sum;
}

}  // namespace shardplan
