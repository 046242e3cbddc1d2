// One rank's cached rows, kept across steps.
//
// A row is named by layer, cache tensor and (request, position): never by where it stood in a step's list, which shifts.
// The rows of a request lie one behind the other by position, so that a step's reading is copying.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "calibrate/local_array.h"

namespace shardplan {

struct CacheName {
  std::int64_t layer = 0;
  std::string tensor;
  friend auto operator<=>(const CacheName&, const CacheName&) = default;
};

class CacheStore {
 public:
  // All rows of `rows` ([positions or tokens, rest]); replaces rows of the same token. Rows of a request that were stored
  // with other heads are gone.
  void put(const CacheName& name, const LocalArray& rows);
  // Fills `out` ([positions, rest]). InternalError "cached row ... is on another rank" when a row was never stored here, or
  // was stored with other heads.
  void get(const CacheName& name, LocalArray& out) const;
  [[nodiscard]] bool has(const CacheName& name, std::int64_t token) const;
  // Drops the rows of the requests that are not among the tokens: a window has moved on.
  void retain(const CacheName& name, const std::vector<std::int64_t>& of_requests, const std::vector<std::int64_t>& tokens);
  // Rows stored of every cache, elements each: what the ledger calls cache.
  [[nodiscard]] std::map<CacheName, std::int64_t> elements() const;

 private:
  struct RequestRows {
    LocalDims rest;
    std::int64_t width = 0;
    std::vector<float> values;    // position by position
    std::vector<bool> stored;     // by position
  };
  std::map<CacheName, std::unordered_map<std::int64_t, RequestRows>> rows_;
};

}  // namespace shardplan
