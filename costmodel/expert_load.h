// How tokens spread over experts, and what the most loaded rank of an EP group gets.
//
// Popularity p_e = expected share of tokens that pick expert e; sum_e p_e = k, p_e <= 1. Uniform: k/E. Zipf with
// exponent a: p_e proportional to (i+1)^-a, i being the expert's place in a fixed random order; capped at 1 and
// rescaled. Histogram: given counts, rescaled.
// For T independent tokens: expert e gets T*p_e rows, is hit at all with probability 1-(1-p_e)^T.
// Wrong where consecutive tokens of one request route alike (hits are then fewer).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardplan {

class CappedLoad;
struct ExpertDrops;

// The input: "uniform", "zipf:0.6", or counts from a file.
struct ExpertLoad {
  enum class Kind { kUniform, kZipf, kHistogram };
  Kind kind = Kind::kUniform;
  double exponent_ratio = 0;            // kZipf
  std::vector<double> counts;           // kHistogram; any positive scale, one per expert
};
// What generated text shows, for prices that are to be met: zipf:0.8. Published serving rows pin the exponent between 0.6
// and 1: fewer experts are read at 16 to 128 tokens than an even load would hit.
[[nodiscard]] ExpertLoad served_expert_load();
// Parses "uniform", "zipf:A" or a JSON file holding an array of counts; InputError otherwise.
[[nodiscard]] ExpertLoad parse_expert_load(const std::string& text);

// One rank group's share of the experts: physical slots, each with its expert's popularity/replicas.
class ExpertLoadModel {
 public:
  // `experts` routed, `per_token` picked, over `ep` ranks holding (experts + redundant)/ep slots each: contiguous,
  // or placed by EPLB when redundant > 0. Without redundancy the first experts % ep ranks hold one more; with it
  // slots per rank are rounded up. With a capacity factor (0: none) no expert takes more rows than its capacity
  // (expert_capacity.h). Precondition: sizes positive, per_token <= experts, redundant >= 0, capacity_factor_ratio >= 0.
  // InputError when a histogram has another number of experts, or fewer used ones than a token picks.
  ExpertLoadModel(const ExpertLoad& load, std::int64_t experts, std::int64_t per_token, std::int64_t ep, std::int64_t redundant,
                  double capacity_factor_ratio = 0);

  // For `tokens` tokens of the whole EP group (before top-k):
  [[nodiscard]] double busiest_rows(double tokens) const;   // (token, expert) rows on the busiest rank
  [[nodiscard]] double mean_rows(double tokens) const;
  [[nodiscard]] double busiest_hits(double tokens) const;   // distinct local experts with a row, on the rank with most
  // Expected tiles of `tile_rows` rows that the busiest rank's experts fill, each expert's rows rounded up: what grouped
  // products are launched for. Rows of an expert are binomial, taken as normal above the first tile.
  [[nodiscard]] double busiest_tiles(double tokens, int tile_rows) const;
  // Under a capacity factor: share of the rows that is dropped; of the visits without one, how many of the most visited rank's
  // and of an average rank's are left. Without one 0, 1 and 1.
  [[nodiscard]] double dropped_ratio(double tokens) const;
  [[nodiscard]] std::optional<ExpertDrops> drops(std::int64_t tokens) const;
  [[nodiscard]] double least_kept_ratio() const;            // of the rows, over any number of tokens
  [[nodiscard]] double busiest_visits_left_ratio(double tokens) const;
  [[nodiscard]] double mean_visits_left_ratio(double tokens) const;
  // Numbers that tell one load from another: equal signatures give equal answers.
  [[nodiscard]] std::vector<double> signature() const;
  // Expected distinct ranks of the group that one token goes to (de-duplicated destinations); uniform, no redundancy:
  // G*(1 - C(E-E/G,k)/C(E,k)). Skewed: conditional Poisson sampling, fitted to the popularities.
  [[nodiscard]] double distinct_destinations() const;
  // Probability that a token goes to the most visited rank; and to a rank on average.
  [[nodiscard]] double busiest_visit_ratio() const;
  [[nodiscard]] double mean_visit_ratio() const;
  [[nodiscard]] double experts_per_token() const { return per_token_; }
  [[nodiscard]] std::int64_t slots_per_rank() const;        // of the fullest rank
  // busiest_rows / mean_rows.
  [[nodiscard]] double imbalance_ratio() const;

 private:
  std::int64_t ep_ = 1;
  std::int64_t slots_ = 0;
  double per_token_ = 0;
  double busiest_share_ = 0;               // sum of slot popularity on the busiest rank
  double visit_busiest_ = 0;
  double visit_mean_ = 0;
  bool uniform_ = true;
  std::vector<double> hit_table_;          // busiest_hits at tokens = 2^(i/4), for skewed loads
  double uniform_popularity_ = 0;
  std::vector<double> busiest_slots_;      // popularities of the rank with most rows
  std::shared_ptr<const CappedLoad> capped_;   // nullptr: nothing is dropped
};

// Expected number of distinct experts among `tokens` tokens, uniform: E*(1-(1-k/E)^T). (8, 2, 3) -> 4.625.
[[nodiscard]] double distinct_experts(std::int64_t experts, std::int64_t per_token, double tokens);

}  // namespace shardplan
