// Discrete choices of a run (experts of a token, sampled tokens), for another run to follow.
//
// Where numbers are rounded, two runs may differ in a near-tie and then in everything after it. The sharded run follows
// the choices of the unsharded one instead, and each choice must be as good as its own best within the tolerance. Runs
// that round otherwise on purpose follow without that: by how much the choices fall short there widens what is allowed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace shardplan {

class ChoiceLog {
 public:
  void record(std::int64_t layer, const char* op, std::int64_t token, std::vector<std::int64_t> chosen) {
    chosen_[{layer, op, token}] = std::move(chosen);
  }
  // nullptr when none was recorded.
  [[nodiscard]] const std::vector<std::int64_t>* find(std::int64_t layer, const char* op, std::int64_t token) const {
    const auto it = chosen_.find({layer, op, token});
    return it == chosen_.end() ? nullptr : &it->second;
  }

  // By how much an op's choice was worse than a follower's own, of the largest score.
  void widen(std::int64_t layer, const char* op, double shortfall_ratio) {
    double& most = shortfall_[{layer, op}];
    most = shortfall_ratio > most ? shortfall_ratio : most;
  }
  [[nodiscard]] double shortfall(std::int64_t layer, const char* op) const {
    const auto it = shortfall_.find({layer, op});
    return it == shortfall_.end() ? 0 : it->second;
  }

 private:
  std::map<std::tuple<std::int64_t, std::string, std::int64_t>, std::vector<std::int64_t>> chosen_;
  std::map<std::pair<std::int64_t, std::string>, double> shortfall_;
};

}  // namespace shardplan
