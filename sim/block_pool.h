// The KV cache of one attention group as blocks, with reuse of common prefixes.
//
// Blocks have no identity but through the hash that names their content: a request holds so many blank blocks and pins
// so many named entries (a prefix of its hashes). An entry that nobody pins stays until its blocks are needed, least
// recently used first; of one request's entries the last goes first (vLLM V1, SGLang). blank + pinned + unpinned +
// held = capacity, always. Wrong in one point: a block computed twice at the same time is kept once (as SGLang does;
// vLLM keeps both), and blank blocks are taken before any entry is evicted.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace shardplan {

class CacheTier;

class BlockPool {
 public:
  // InputError unless both are positive.
  BlockPool(std::int64_t capacity_blocks, std::int64_t block_tokens);

  [[nodiscard]] std::int64_t capacity() const { return capacity_; }
  [[nodiscard]] std::int64_t block_tokens() const { return block_tokens_; }
  [[nodiscard]] std::int64_t available() const { return blank_ + unpinned_; }
  [[nodiscard]] std::int64_t used() const { return capacity_ - available(); }
  [[nodiscard]] std::int64_t cached_entries() const { return static_cast<std::int64_t>(by_hash_.size()); }
  [[nodiscard]] std::int64_t evictions() const { return evictions_; }
  [[nodiscard]] std::int64_t blocks_of(std::int64_t tokens) const { return (tokens + block_tokens_ - 1) / block_tokens_; }

  // Blank blocks for a request; false, and nothing changes, when there are not enough.
  [[nodiscard]] bool take(std::int64_t blocks);
  void give(std::int64_t blocks);

  // How many leading hashes are cached.
  [[nodiscard]] std::int64_t match(std::span<const std::uint64_t> hashes) const;
  // Blocks that become unavailable when these are pinned. Precondition: all are cached.
  [[nodiscard]] std::int64_t cost_of_pinning(std::span<const std::uint64_t> hashes) const;
  void pin(std::span<const std::uint64_t> hashes);
  void unpin(std::span<const std::uint64_t> hashes);
  // Names `blocks` blocks that the caller holds, and pins them for it; where the name is there already, that entry is
  // pinned and the caller's blocks are blank again. Either way the caller holds them no longer.
  void publish(std::uint64_t hash, std::int64_t blocks);

  // Named blocks that are evicted go there from now on; null: they are lost. It must outlive the pool.
  void set_lower(CacheTier* tier) { lower_ = tier; }
  // Loses everything (a fault).
  void reset();
  // InternalError when blocks were lost or counted twice; for tests, linear in entries.
  void check() const;

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::int64_t blocks = 0;
    std::int64_t pins = 0;
    std::int32_t older = -1;
    std::int32_t newer = -1;
  };
  void add_newest(std::int32_t entry);
  void unlink(std::int32_t entry);
  void evict_oldest();

  std::int64_t capacity_;
  std::int64_t block_tokens_;
  std::int64_t blank_;
  std::int64_t unpinned_ = 0;   // blocks of entries that nobody pins
  std::int64_t named_ = 0;      // blocks of all entries
  std::int64_t held_ = 0;       // blank blocks given to requests
  std::int64_t evictions_ = 0;
  CacheTier* lower_ = nullptr;
  std::unordered_map<std::uint64_t, std::int32_t> by_hash_;
  std::vector<Entry> entries_;
  std::vector<std::int32_t> free_;
  std::int32_t oldest_ = -1;
  std::int32_t newest_ = -1;
};

}  // namespace shardplan
