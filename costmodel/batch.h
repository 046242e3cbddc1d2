// What one forward processes: as a shape (for prices) and as lists of requests (for execution).
#pragma once

#include <cstdint>
#include <vector>

namespace shardplan {

// Which of a step's tokens a value holds. Decode tokens: one per running sequence, and those drafted behind it. Prefill
// tokens: chunks. kVerified: those whose logits are needed, all decode tokens and the last one of every prompt.
// kLast: the last new token of every request.
enum class Phase : std::uint8_t { kAll, kDecode, kPrefill, kVerified, kLast };

// Aggregate over the whole instance: equal sequences of each phase. The pricer's argument.
struct BatchShape {
  std::int64_t decode_sequences = 0;
  double decode_context = 0;         // positions that the last token of each attends to, its own included
  std::int64_t decode_tokens = 1;    // new tokens of each: one, and drafted ones to verify
  std::int64_t prefill_sequences = 0;
  std::int64_t prefill_tokens = 0;   // new tokens of each
  double prefill_prefix = 0;         // tokens of each that are cached already
  // Sequences whose logits are needed: every decode and every finished prompt (default all).
  [[nodiscard]] std::int64_t sequences() const { return decode_sequences + prefill_sequences; }
  [[nodiscard]] std::int64_t tokens() const { return decode_sequences * decode_tokens + prefill_sequences * prefill_tokens; }
};

// The same step where each decode verifies `drafts` drafted tokens behind its own.
[[nodiscard]] BatchShape verifying(BatchShape shape, std::int64_t drafts);

struct RequestSlice {
  std::int64_t request = 0;          // identity; cache entries are keyed (request, position)
  std::int64_t prefix = 0;           // tokens already cached
  std::int64_t new_tokens = 0;       // positions prefix .. prefix+new_tokens-1 are computed now
  Phase phase = Phase::kPrefill;     // kDecode: one new token, and drafted ones
};

// The same for execution: requests one by one, in batch order.
struct RaggedBatch {
  std::vector<RequestSlice> requests;
  static RaggedBatch from(const BatchShape& shape);  // equal requests numbered from 0; decode context must be whole
};

}  // namespace shardplan
