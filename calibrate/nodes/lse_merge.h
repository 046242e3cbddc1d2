// Merging partial attention outputs by their log-sum-exp: O = sum_r exp(l_r - l) O_r, l = log sum_r exp(l_r).
//
// A rank that saw no key has l_r = -inf and weighs nothing, also when no rank saw any.
#pragma once

#include <vector>

namespace shardplan {

// log sum exp over parts, element by element.
[[nodiscard]] std::vector<float> merged_lse(const std::vector<std::vector<float>>& parts);
// exp(part - whole), 0 where the part is -inf.
[[nodiscard]] float lse_weight(float part, float whole);

}  // namespace shardplan
