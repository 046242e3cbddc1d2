// How long prompts and outputs are.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/random.h"

namespace shardplan {

struct RequestLengths {
  std::int64_t prompt_tokens = 1;
  std::int64_t output_tokens = 1;
};

class LengthModel {
 public:
  virtual ~LengthModel() = default;
  [[nodiscard]] virtual RequestLengths next(Random& random) = 0;   // both from 1 to kMaxRequestTokens
};

// InputError unless nominal lengths are from 1 to kMaxRequestTokens and ratios sensible.
[[nodiscard]] std::unique_ptr<LengthModel> fixed_lengths(RequestLengths nominal);
// Uniform whole numbers from floor(low_ratio*nominal) to nominal, prompt and output independent (serving benchmarks: 0.8).
[[nodiscard]] std::unique_ptr<LengthModel> uniform_lengths(RequestLengths nominal, double low_ratio);
// Lognormal with the nominal means and one coefficient of variation, prompt and output independent.
[[nodiscard]] std::unique_ptr<LengthModel> lognormal_lengths(RequestLengths mean, double cv_ratio);
// Pairs drawn with replacement from a sample.
[[nodiscard]] std::unique_ptr<LengthModel> empirical_lengths(std::vector<RequestLengths> sample);

}  // namespace shardplan
