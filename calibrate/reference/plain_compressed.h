// DeepSeek-V4's attention and residual streams in double, token by token: every entry is made anew from the keys of all
// its tokens, of which those before the step come from the layer's stored states.
#pragma once

#include "calibrate/reference/plain_attention.h"

namespace shardplan {

[[nodiscard]] PlainRows plain_compressed_attention(const PlainLayer& layer, const AttentionSpec& spec,
                                                   const RaggedBatch& batch, const PlainRows& x);

// What one block reads of the streams, and the streams after it. `site`: 0 before the mixer, 1 before the FFN.
class PlainStreams {
 public:
  // Rows are the streams of a token one after the other.
  PlainStreams(const PlainLayer& layer, std::int64_t streams, std::int64_t site, const PlainRows& x);
  [[nodiscard]] PlainRows read() const;
  [[nodiscard]] PlainRows written(const PlainRows& branch) const;

 private:
  struct Mix {
    Vector read;
    Vector write;
    std::vector<Vector> among;
  };
  std::int64_t streams_;
  const PlainRows& x_;
  std::map<std::int64_t, Mix> mix_;
};

}  // namespace shardplan
