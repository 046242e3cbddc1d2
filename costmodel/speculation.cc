#include "costmodel/speculation.h"

namespace shardplan {

double tokens_per_step(std::int64_t drafts, double acceptance_ratio) {
  double sum = 1;
  double all_accepted = 1;
  for (std::int64_t i = 0; i < drafts; ++i) sum += all_accepted *= acceptance_ratio;
  return sum;
}

std::optional<double> break_even_acceptance(std::int64_t drafts, double step_ratio) {
  if (step_ratio > tokens_per_step(drafts, 1)) return std::nullopt;
  double low = 0;
  double high = 1;
  for (int i = 0; i < 50; ++i) {  // the sum grows with the acceptance
    const double middle = (low + high) / 2;
    (tokens_per_step(drafts, middle) < step_ratio ? low : high) = middle;
  }
  return high;
}

}  // namespace shardplan
