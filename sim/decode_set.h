// The requests of one batch that decode: all gain a token per step, so that a step is one addition.
//
// A member's context is base + steps(), its last token comes at a known step: joining and leaving cost O(log members),
// a run of k steps O(1) beside them. New blocks are counted by where members stand in their last block: the member at
// residue r of block size P needs one in steps where steps() + r = 0 mod P.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/request_table.h"

namespace shardplan {

class DecodeSet {
 public:
  // Without `grows` members hold all the blocks they will ever need.
  DecodeSet(std::int64_t block_tokens, bool grows);

  [[nodiscard]] std::int64_t size() const { return members_.size; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  // Sum over members of cached tokens before the next step.
  [[nodiscard]] std::int64_t context_sum() const { return context_sum_; }
  [[nodiscard]] const RequestList& members() const { return members_; }
  [[nodiscard]] bool grows() const { return grows_; }

  [[nodiscard]] std::int64_t context(const Request& member) const { return member.context_base + steps_; }
  [[nodiscard]] std::int64_t outputs(const Request& member) const { return member.outputs_base + steps_; }

  // Precondition: computed == target, outputs < output_tokens.
  void join(RequestTable& table, RequestSlot slot);
  // Sets the request's outputs to where it stands; its holding to its blocks when they grow.
  void leave(RequestTable& table, RequestSlot slot);

  // Blocks that k steps need beyond those held. k >= 0.
  [[nodiscard]] std::int64_t blocks_for(std::int64_t k) const;
  // The largest k with blocks_for(k) <= available, at most `most`.
  [[nodiscard]] std::int64_t steps_within(std::int64_t available, std::int64_t most) const;
  // Steps until the next member has its last token, at least 1. Precondition: not empty.
  [[nodiscard]] std::int64_t steps_to_end(const RequestTable& table);
  void advance(std::int64_t k);
  // A member that has all its tokens, or kNoRequest; it stays a member.
  [[nodiscard]] RequestSlot ended(const RequestTable& table);
  void clear();

 private:
  struct End {
    std::int64_t step = 0;
    std::int64_t admission = 0;
    RequestSlot slot = kNoRequest;
  };
  [[nodiscard]] static bool later(const End& a, const End& b);
  [[nodiscard]] std::size_t residue(std::int64_t context) const;
  void drop_stale(const RequestTable& table);

  std::int64_t block_tokens_;
  bool grows_;
  std::int64_t steps_ = 0;
  std::int64_t context_sum_ = 0;
  RequestList members_;                    // in order of joining
  std::vector<std::int64_t> residues_;     // members by (context - steps) mod block_tokens
  std::vector<End> ends_;                  // heap, soonest first; ends of members that left are stale
};

}  // namespace shardplan
