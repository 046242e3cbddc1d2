// A tier of prefix cache below the device's own: host memory, or a store that replicas share.
//
// Holds blocks by the identity of their content, least recently used out first; what leaves goes one tier down. Blocks
// come in when the tier above gives them up. Exclusive or not makes no difference to hits: a block that was fetched back
// stays here until it is the oldest. Wrong: writes cost no link time, as engines write behind.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

namespace shardplan {

class CacheTier {
 public:
  // `lower` may be null: what leaves is lost.
  CacheTier(std::int64_t capacity_blocks, CacheTier* lower) : capacity_(capacity_blocks), lower_(lower) {}

  [[nodiscard]] bool contains(std::uint64_t hash) const { return by_hash_.contains(hash); }
  [[nodiscard]] std::int64_t used() const { return used_; }
  // A block of that identity comes in, or is used: it is the newest now.
  void put(std::uint64_t hash, std::int64_t blocks);
  void clear();   // a fault

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::int64_t blocks = 0;
  };
  std::int64_t capacity_;
  CacheTier* lower_;
  std::int64_t used_ = 0;
  std::list<Entry> newest_first_;
  std::unordered_map<std::uint64_t, std::list<Entry>::iterator> by_hash_;
};

}  // namespace shardplan
