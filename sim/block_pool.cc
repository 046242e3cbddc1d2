#include "sim/block_pool.h"

#include "base/errors.h"
#include "sim/cache_tier.h"

namespace shardplan {

BlockPool::BlockPool(std::int64_t capacity_blocks, std::int64_t block_tokens)
    : capacity_(capacity_blocks), block_tokens_(block_tokens), blank_(capacity_blocks) {
  if (capacity_blocks < 1 || block_tokens < 1) throw InputError("KV cache", "has no blocks", "at least one block of at least one token");
}

bool BlockPool::take(std::int64_t blocks) {
  if (blocks > available()) return false;
  while (blank_ < blocks) evict_oldest();
  blank_ -= blocks;
  held_ += blocks;
  return true;
}

void BlockPool::give(std::int64_t blocks) {
  ensure(blocks >= 0 && blocks <= held_, "more KV blocks came back than were taken");
  held_ -= blocks;
  blank_ += blocks;
}

std::int64_t BlockPool::match(std::span<const std::uint64_t> hashes) const {
  std::int64_t found = 0;
  if (by_hash_.empty()) return 0;
  for (const std::uint64_t hash : hashes) {
    if (!by_hash_.contains(hash)) break;
    ++found;
  }
  return found;
}

std::int64_t BlockPool::cost_of_pinning(std::span<const std::uint64_t> hashes) const {
  std::int64_t cost = 0;
  for (const std::uint64_t hash : hashes) {
    const Entry& entry = entries_[static_cast<std::size_t>(by_hash_.at(hash))];
    if (entry.pins == 0) cost += entry.blocks;
  }
  return cost;
}

void BlockPool::pin(std::span<const std::uint64_t> hashes) {
  for (const std::uint64_t hash : hashes) {
    const std::int32_t at = by_hash_.at(hash);
    Entry& entry = entries_[static_cast<std::size_t>(at)];
    if (entry.pins++ > 0) continue;
    unlink(at);
    unpinned_ -= entry.blocks;
  }
}

void BlockPool::unpin(std::span<const std::uint64_t> hashes) {
  for (std::size_t i = hashes.size(); i-- > 0;) {
    const std::int32_t at = by_hash_.at(hashes[i]);
    Entry& entry = entries_[static_cast<std::size_t>(at)];
    ensure(entry.pins > 0, "a cached block was released twice");
    if (--entry.pins > 0) continue;
    add_newest(at);
    unpinned_ += entry.blocks;
  }
}

void BlockPool::publish(std::uint64_t hash, std::int64_t blocks) {
  ensure(blocks <= held_, "a block was named that nobody holds");
  const auto [place, added] = by_hash_.try_emplace(hash, -1);
  if (!added) {
    give(blocks);
    pin({&hash, 1});
    return;
  }
  std::int32_t at = static_cast<std::int32_t>(entries_.size());
  if (free_.empty()) {
    entries_.emplace_back();
  } else {
    at = free_.back();
    free_.pop_back();
  }
  place->second = at;
  entries_[static_cast<std::size_t>(at)] = {.hash = hash, .blocks = blocks, .pins = 1};
  held_ -= blocks;
  named_ += blocks;
}

void BlockPool::add_newest(std::int32_t entry) {
  Entry& e = entries_[static_cast<std::size_t>(entry)];
  e.older = newest_;
  e.newer = -1;
  if (newest_ >= 0) entries_[static_cast<std::size_t>(newest_)].newer = entry;
  else oldest_ = entry;
  newest_ = entry;
}

void BlockPool::unlink(std::int32_t entry) {
  const Entry& e = entries_[static_cast<std::size_t>(entry)];
  if (e.older >= 0) entries_[static_cast<std::size_t>(e.older)].newer = e.newer;
  else oldest_ = e.newer;
  if (e.newer >= 0) entries_[static_cast<std::size_t>(e.newer)].older = e.older;
  else newest_ = e.older;
}

void BlockPool::evict_oldest() {
  const std::int32_t at = oldest_;
  const Entry entry = entries_[static_cast<std::size_t>(at)];
  unlink(at);
  by_hash_.erase(entry.hash);
  free_.push_back(at);
  unpinned_ -= entry.blocks;
  named_ -= entry.blocks;
  blank_ += entry.blocks;
  evictions_ += entry.blocks;
  if (lower_ != nullptr) lower_->put(entry.hash, entry.blocks);
}

void BlockPool::reset() {
  by_hash_.clear();
  entries_.clear();
  free_.clear();
  oldest_ = newest_ = -1;
  unpinned_ = named_ = held_ = 0;
  blank_ = capacity_;
}

void BlockPool::check() const {
  std::int64_t named = 0;
  std::int64_t unpinned = 0;
  for (const auto& [hash, at] : by_hash_) {
    const Entry& entry = entries_[static_cast<std::size_t>(at)];
    ensure(entry.hash == hash, "a cached block lost its name");
    named += entry.blocks;
    if (entry.pins == 0) unpinned += entry.blocks;
  }
  std::int64_t listed = 0;
  for (std::int32_t at = oldest_; at >= 0; at = entries_[static_cast<std::size_t>(at)].newer) listed += entries_[static_cast<std::size_t>(at)].blocks;
  ensure(named == named_ && unpinned == unpinned_ && listed == unpinned_, "cached blocks are miscounted");
  ensure(blank_ >= 0 && held_ >= 0 && blank_ + held_ + named_ == capacity_, "KV blocks were lost or counted twice");
}

}  // namespace shardplan
