// The requests under way: slots that are reused, and lists of slots without memory of their own.
//
// One link pair per request: it is in one list at a time (waiting, prefilling, a batch's members, arriving from afar).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/workloads/request_spec.h"

namespace shardplan {

using RequestSlot = std::int32_t;
inline constexpr RequestSlot kNoRequest = -1;

enum class RequestPhase : std::uint8_t { kFree, kOutside, kWaiting, kPrefilling, kDecoding, kHandedOver, kArriving, kLoading, kLost };

// Cache that a request holds in one pool. While it decodes, blocks grow with its context: see DecodeSet.
struct Holding {
  std::int64_t pinned = 0;         // leading hashes
  std::int64_t pinned_blocks = 0;
  std::int64_t blocks = 0;         // blank ones
};

struct Request {
  RequestSpec spec;
  RequestPhase phase = RequestPhase::kFree;
  RequestSlot previous = kNoRequest;
  RequestSlot next = kNoRequest;

  std::int32_t replica = 0;        // where it is served now
  std::int32_t group = 0;
  std::int32_t source_replica = -1;  // where its cache was computed, until that has moved
  std::int32_t source_group = 0;

  SimTime ready;                   // in the engine's queue since
  std::int64_t admission = 0;      // unique, in order of admission to the batch
  std::int64_t target = 0;         // tokens to compute before the next output: prompt and outputs so far
  std::int64_t scheduled = 0;      // of target: cached, or in a step
  std::int64_t computed = 0;       // of target: cached, or in a finished step
  std::int64_t outputs = 0;        // tokens answered (while decoding: see DecodeSet)
  std::int64_t context_base = 0;   // while decoding, context = base + steps of the DecodeSet
  std::int64_t outputs_base = 0;
  Holding holding;
  Holding source_holding;

  SimTime first_scheduled;
  SimTime prefilled;               // prefill pools: its prompt was computed
  SimTime first_token;
  SimTime last_token;
  bool was_scheduled = false;
  bool was_loaded = false;         // its prefix was looked for in the lower tiers
  std::int64_t reserved = 0;       // blocks kept for it while its prefix comes, until it is admitted
  std::int32_t preemptions = 0;
  std::int64_t cached_tokens = 0;  // of its first prefill, found in the cache

  [[nodiscard]] std::int64_t left_to_schedule() const { return target - scheduled; }
  [[nodiscard]] std::int64_t largest_context() const { return spec.prompt_tokens + spec.output_tokens - 1; }
  // Hashes of cached tokens [0, tokens), whole blocks only.
  [[nodiscard]] std::span<const std::uint64_t> hashes_within(std::int64_t tokens) const {
    if (spec.hashes.empty() || spec.hash_tokens <= 0) return {};
    return std::span(spec.hashes).first(std::min(spec.hashes.size(), static_cast<std::size_t>(tokens / spec.hash_tokens)));
  }
};

struct RequestList {
  RequestSlot head = kNoRequest;
  RequestSlot tail = kNoRequest;
  std::int64_t size = 0;
  [[nodiscard]] bool empty() const { return size == 0; }
};

class RequestTable {
 public:
  [[nodiscard]] Request& operator[](RequestSlot slot) { return slots_[static_cast<std::size_t>(slot)]; }
  [[nodiscard]] const Request& operator[](RequestSlot slot) const { return slots_[static_cast<std::size_t>(slot)]; }
  [[nodiscard]] std::int64_t active() const { return static_cast<std::int64_t>(slots_.size() - free_.size()); }
  [[nodiscard]] std::int64_t slots() const { return static_cast<std::int64_t>(slots_.size()); }

  // Numbers admissions over all instances, so that a slot used again is never taken for the one before.
  [[nodiscard]] std::int64_t next_admission() { return admissions_++; }

  RequestSlot add();               // a blank request; references are invalid after
  void remove(RequestSlot slot);   // precondition: in no list

  void push_back(RequestList& list, RequestSlot slot);
  void push_front(RequestList& list, RequestSlot slot);
  void erase(RequestList& list, RequestSlot slot);   // precondition: it is in this list

 private:
  std::vector<Request> slots_;
  std::vector<RequestSlot> free_;
  std::int64_t admissions_ = 0;
};

}  // namespace shardplan
