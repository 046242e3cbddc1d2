// To how many ranks of an EP group a token goes: once to each that holds one of its experts.
//
// A token's k picks are a conditional Poisson sample: independent picks with odds w per slot, given that k are
// picked (Chen, Dempster, Liu, Biometrika 81(3), 1994). With e_k the k-th elementary symmetric polynomial of the odds,
//   P(slot s picked) = w_s * e_{k-1}(other slots) / e_k(all),   P(rank not visited) = e_k(slots elsewhere) / e_k(all);
// the odds are fitted so that P(slot picked) is its popularity. Uniform load gives C(E-E/G, k) / C(E, k).
// A pick of slot s that is kept with probability q_s (capacity factor) visits its rank no more when it is dropped: the
// rank's own slots then count with odds w_s*(1-q_s) among those elsewhere. Wrong where picks of one token are dropped
// together. The copies of one expert count as slots of their own, which a token could both pick. Above 64 picks: picks
// are independent.
#pragma once

#include <cstdint>
#include <vector>

namespace shardplan {

class TokenVisits {
 public:
  using BySlot = std::vector<std::vector<double>>;  // [rank][slot]

  // `popularity`: of each slot of each rank; they add up to `per_token`.
  TokenVisits(BySlot popularity, std::int64_t per_token);

  // Per rank, the probability that a token goes there.
  [[nodiscard]] std::vector<double> ratios() const;
  // The same when a pick of a slot is kept with the given probability.
  [[nodiscard]] std::vector<double> ratios(const BySlot& kept) const;

 private:
  BySlot popularity_;
  std::size_t degree_ = 0;
  std::vector<double> odds_;  // empty: picks are independent
  BySlot after_;              // of each slot: the polynomial of the slots from it on
};

}  // namespace shardplan
