// Refused configurations, grouped: one row per family and rule, with the nearest miss as its face.
//
// A family is the set of strategies a configuration uses (which degrees exceed 1). What misses least is shown, because
// it says what would have to change.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "planner/plan.h"

namespace shardplan {

// "tp+pp", "dpa+ep", "1 GPU": degrees over 1, Helix named.
[[nodiscard]] std::string family_of(const ParallelConfig& config);

struct Refusal {
  std::string message;
  std::string suggestion;
};

class RejectionTally {
 public:
  // Counts `count` configurations under (family of `config`, rule). `say` is called only when `miss` (how far from
  // feasible, 0 = just missed) is the least so far; equal misses keep the first.
  void add(const ParallelConfig& config, const std::string& rule, double miss, const std::function<Refusal()>& say,
           std::int64_t count = 1);
  void merge(const RejectionTally& other);
  // Families in a fixed order: rules that were nearest to success first.
  [[nodiscard]] std::vector<Rejection> rows() const;
  // The least miss under `rule` over all families; rejection is nullptr when nothing was refused by it.
  struct Nearest {
    const Rejection* rejection = nullptr;
    double miss = 0;
  };
  [[nodiscard]] Nearest nearest(const std::string& rule) const;

 private:
  struct Row {
    Rejection rejection;
    double miss = 0;
  };
  std::map<std::pair<std::uint32_t, std::string>, Row> rows_;
};

}  // namespace shardplan
