#include "sim/cache_tier.h"

namespace shardplan {

void CacheTier::put(std::uint64_t hash, std::int64_t blocks) {
  const auto found = by_hash_.find(hash);
  if (found != by_hash_.end()) return newest_first_.splice(newest_first_.begin(), newest_first_, found->second);
  if (blocks > capacity_) return;
  newest_first_.push_front({.hash = hash, .blocks = blocks});
  by_hash_.emplace(hash, newest_first_.begin());
  used_ += blocks;
  while (used_ > capacity_) {
    const Entry oldest = newest_first_.back();
    newest_first_.pop_back();
    by_hash_.erase(oldest.hash);
    used_ -= oldest.blocks;
    if (lower_ != nullptr) lower_->put(oldest.hash, oldest.blocks);
  }
}

void CacheTier::clear() {
  newest_first_.clear();
  by_hash_.clear();
  used_ = 0;
}

}  // namespace shardplan
