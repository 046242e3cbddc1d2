// The ranks of one pipeline stage as a mixed-radix number.
//
// A rank's digits, outermost first, are the common refinement of the stage's attention widths
// {1, dcp, tp, pcp*tp, dpa*pcp*tp} and FFN widths {1, moe_tp, moe_tp*ep, ...}. An axis (tp, ep, ...)
// is the list of digits between two strides, so two axes overlap exactly where they share digits,
// and a communication group is a set of digits. The strides must form a divisor chain.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/inline_vector.h"

namespace shardplan {

using Digit = std::uint8_t;           // index into Mesh::sizes(), 0 = outermost
using DigitList = InlineVector<Digit, 16>; // outermost first

// A set of digits; names a communication group of every rank.
class DigitSet {
 public:
  constexpr DigitSet() = default;
  DigitSet(const DigitList& digits) { for (const Digit d : digits) insert(d); }
  constexpr void insert(Digit d) { bits_ = static_cast<std::uint32_t>(bits_ | (1U << d)); }
  constexpr void erase(Digit d) { bits_ = bits_ & ~(1U << d); }
  [[nodiscard]] constexpr bool contains(Digit d) const { return ((bits_ >> d) & 1U) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  [[nodiscard]] constexpr std::uint32_t bits() const { return bits_; }
  [[nodiscard]] constexpr bool intersects(DigitSet other) const { return (bits_ & other.bits_) != 0; }
  [[nodiscard]] constexpr bool includes(DigitSet other) const { return (bits_ & other.bits_) == other.bits_; }
  constexpr DigitSet& operator|=(DigitSet other) { bits_ |= other.bits_; return *this; }
  friend constexpr DigitSet operator|(DigitSet a, DigitSet b) { return a |= b; }
  friend constexpr bool operator==(DigitSet, DigitSet) = default;

 private:
  std::uint32_t bits_ = 0;
};

class Mesh {
 public:
  Mesh() = default;
  // Refines `ranks` by `strides` (any order, repeats and 1 allowed, each a divisor of `ranks`).
  // nullopt when two strides do not divide one another: the factorisations do not nest.
  static std::optional<Mesh> refine(std::int64_t ranks, std::vector<std::int64_t> strides);

  [[nodiscard]] std::int64_t ranks() const { return ranks_; }
  [[nodiscard]] const std::vector<std::int64_t>& sizes() const { return sizes_; }    // outermost first, all > 1
  [[nodiscard]] int digit_count() const { return static_cast<int>(sizes_.size()); }
  // Digits of an axis that spans strides [inner, outer): product of sizes = outer/inner.
  [[nodiscard]] DigitList digits_between(std::int64_t inner_stride, std::int64_t outer_stride) const;

  [[nodiscard]] std::int64_t coordinate(std::int64_t rank, Digit digit) const {
    return rank / strides_[digit] % sizes_[digit];
  }
  // Mixed-radix number of `rank`'s coordinates on `digits`, first listed is most significant.
  [[nodiscard]] std::int64_t part(std::int64_t rank, const DigitList& digits) const;
  [[nodiscard]] std::int64_t size(const DigitList& digits) const;
  [[nodiscard]] std::int64_t size(DigitSet digits) const;
  // Ranks that share `rank`'s coordinates outside `group`, ascending.
  [[nodiscard]] std::vector<int> group_of(std::int64_t rank, DigitSet group) const;
  // All groups, each ascending, in order of their first rank.
  [[nodiscard]] std::vector<std::vector<int>> groups(DigitSet group) const;

 private:
  std::int64_t ranks_ = 1;
  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> strides_;
};

}  // namespace shardplan
