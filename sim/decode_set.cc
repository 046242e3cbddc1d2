#include "sim/decode_set.h"

#include <algorithm>
#include <tuple>

namespace shardplan {

DecodeSet::DecodeSet(std::int64_t block_tokens, bool grows)
    : block_tokens_(block_tokens), grows_(grows), residues_(grows ? static_cast<std::size_t>(block_tokens) : 0) {}

bool DecodeSet::later(const End& a, const End& b) { return std::tie(a.step, a.admission) > std::tie(b.step, b.admission); }

std::size_t DecodeSet::residue(std::int64_t context) const {
  const std::int64_t r = (context - steps_) % block_tokens_;
  return static_cast<std::size_t>(r < 0 ? r + block_tokens_ : r);
}

void DecodeSet::join(RequestTable& table, RequestSlot slot) {
  Request& request = table[slot];
  request.phase = RequestPhase::kDecoding;
  request.context_base = request.target - steps_;
  request.outputs_base = request.outputs - steps_;
  table.push_back(members_, slot);
  context_sum_ += request.target;
  if (grows_) ++residues_[residue(request.target)];
  ends_.push_back({.step = steps_ + request.spec.output_tokens - request.outputs, .admission = request.admission, .slot = slot});
  std::push_heap(ends_.begin(), ends_.end(), later);
}

void DecodeSet::leave(RequestTable& table, RequestSlot slot) {
  Request& request = table[slot];
  const std::int64_t now = context(request);
  request.outputs = outputs(request);
  request.phase = RequestPhase::kOutside;
  table.erase(members_, slot);
  context_sum_ -= now;
  if (!grows_) return;
  --residues_[residue(now)];
  request.holding.blocks = (now + block_tokens_ - 1) / block_tokens_ - request.holding.pinned_blocks;
}

std::int64_t DecodeSet::blocks_for(std::int64_t k) const {
  if (!grows_) return 0;
  std::int64_t blocks = k / block_tokens_ * size();
  for (std::int64_t i = k - k % block_tokens_; i < k; ++i) {
    const std::int64_t full = (steps_ + i) % block_tokens_;
    blocks += residues_[static_cast<std::size_t>(full == 0 ? 0 : block_tokens_ - full)];
  }
  return blocks;
}

std::int64_t DecodeSet::steps_within(std::int64_t available, std::int64_t most) const {
  if (!grows_ || size() == 0) return most;
  std::int64_t k = std::min(most, available / size() * block_tokens_);   // whole rounds
  std::int64_t blocks = blocks_for(k);
  for (; k < most; ++k) {
    const std::int64_t full = (steps_ + k) % block_tokens_;
    blocks += residues_[static_cast<std::size_t>(full == 0 ? 0 : block_tokens_ - full)];
    if (blocks > available) break;
  }
  return k;
}

// An end is stale when its slot is no member or has been admitted anew.
void DecodeSet::drop_stale(const RequestTable& table) {
  while (!ends_.empty()) {
    const End& end = ends_.front();
    const Request& request = table[end.slot];
    if (request.phase == RequestPhase::kDecoding && request.admission == end.admission) return;
    std::pop_heap(ends_.begin(), ends_.end(), later);
    ends_.pop_back();
  }
}

std::int64_t DecodeSet::steps_to_end(const RequestTable& table) {
  drop_stale(table);
  return ends_.front().step - steps_;
}

void DecodeSet::advance(std::int64_t k) {
  steps_ += k;
  context_sum_ += k * size();
}

RequestSlot DecodeSet::ended(const RequestTable& table) {
  drop_stale(table);
  return ends_.empty() || ends_.front().step > steps_ ? kNoRequest : ends_.front().slot;
}

void DecodeSet::clear() {
  members_ = {};
  context_sum_ = 0;
  std::fill(residues_.begin(), residues_.end(), 0);
  ends_.clear();
}

}  // namespace shardplan
