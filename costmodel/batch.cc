#include "costmodel/batch.h"

#include <cmath>

#include "base/errors.h"
#include "costmodel/speculation.h"

namespace shardplan {
namespace {

std::int64_t whole(double count) {
  ensure(count >= 0 && count == std::floor(count), "a ragged batch needs whole token counts");
  return static_cast<std::int64_t>(count);
}

}  // namespace

BatchShape verifying(BatchShape shape, std::int64_t drafts) {
  shape.decode_tokens = verified_tokens(drafts);
  shape.decode_context += static_cast<double>(drafts);
  return shape;
}

RaggedBatch RaggedBatch::from(const BatchShape& shape) {
  RaggedBatch batch;
  for (std::int64_t i = 0; i < shape.decode_sequences; ++i) {
    batch.requests.push_back({.request = i,
                              .prefix = whole(shape.decode_context) - shape.decode_tokens,
                              .new_tokens = shape.decode_tokens,
                              .phase = Phase::kDecode});
  }
  for (std::int64_t i = 0; i < shape.prefill_sequences; ++i) {
    batch.requests.push_back({.request = shape.decode_sequences + i,
                              .prefix = whole(shape.prefill_prefix),
                              .new_tokens = shape.prefill_tokens,
                              .phase = Phase::kPrefill});
  }
  return batch;
}

}  // namespace shardplan
