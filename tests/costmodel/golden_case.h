// The project's worked examples. The expected numbers stand in the tests, so that they run anywhere; where the shared
// golden.json is there, each is also held against it.
#pragma once

#include <string>

#include "base/json.h"
#include "tests/catch.h"

namespace shardplan {

class GoldenCase {
 public:
  // `rel_tol` is the rounding of the published results; 0: exact. Checked against the file, as every number is.
  explicit GoldenCase(std::string id, double rel_tol = 0);

  // The expected number under `key`, within the rounding.
  [[nodiscard]] Approx near(const std::string& key, double embedded) const;
  // The same as an exact whole number.
  [[nodiscard]] std::int64_t count(const std::string& key, std::int64_t embedded) const;
  // An expected list, written as JSON.
  [[nodiscard]] Json list(const std::string& key, const std::string& embedded) const;

 private:
  void agree(const std::string& key, const Json& embedded) const;

  std::string id_;
  double rel_tol_;
};

}  // namespace shardplan
