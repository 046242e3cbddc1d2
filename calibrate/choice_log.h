// Discrete choices of a run (experts of a token, sampled tokens), for another run to follow.
//
// Where numbers are rounded, two runs may differ in a near-tie and then in everything after it. The sharded run follows
// the choices of the unsharded one instead, and each choice must be as good as its own best within the tolerance.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
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

 private:
  std::map<std::tuple<std::int64_t, std::string, std::int64_t>, std::vector<std::int64_t>> chosen_;
};

}  // namespace shardplan
