// What drafted tokens are worth. A_i: the i-th drafted token is accepted when those before it were; the same A for all.
//
//   tokens of a step and sequence = 1 + A + A^2 + ... + A^k      (the first is the model's own)
// Source: Leviathan et al., arXiv 2211.17192, equation 1. Wrong where later drafts are worse than the first, as those
// of one MTP module run again and again are: A is then the mean that gives the accepted length that was measured.
#pragma once

#include <cstdint>
#include <optional>

namespace shardplan {

inline constexpr double kDefaultAcceptance = 0.8;

// New tokens of a decoding sequence in a step: its own, and those that were drafted before.
[[nodiscard]] constexpr std::int64_t verified_tokens(std::int64_t drafts) { return 1 + drafts; }

// `acceptance_ratio` in [0, 1].
[[nodiscard]] double tokens_per_step(std::int64_t drafts, double acceptance_ratio);
struct Speculation {
  std::int64_t tokens = 0;  // drafted per step; 0: none
  double acceptance_ratio = kDefaultAcceptance;
  [[nodiscard]] double tokens_per_step() const { return shardplan::tokens_per_step(tokens, acceptance_ratio); }
};

// The acceptance from which on a step that takes `step_ratio` times a plain one's pays. Nothing: not even when every
// draft is accepted.
[[nodiscard]] std::optional<double> break_even_acceptance(std::int64_t drafts, double step_ratio);

}  // namespace shardplan
