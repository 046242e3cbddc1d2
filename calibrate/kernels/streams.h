// Mixing of several residual streams around a block. Of the (2+n) n mixing weights m of a token:
//   read_s = sigmoid(m_s);  write_s = 2 sigmoid(m_{n+s});  A = exp of the rest as [n, n], rows and columns scaled to
//   one in turn. in = sum_s read_s x_s;  x'_s = sum_j A_sj x_j + write_s out.
// Source: manifold-constrained hyper-connections, arXiv 2512.24880; fewer rounds of scaling than models use.
#pragma once

#include <vector>

#include "calibrate/local_array.h"

namespace shardplan {

struct StreamMix {
  std::vector<double> read;
  std::vector<double> write;
  std::vector<double> among;  // [to, from]
};
[[nodiscard]] StreamMix stream_mix(const float* weights, std::int64_t streams);

// [tokens, streams, hidden] -> [tokens, hidden]; the mean where `mix` ([tokens, weights]) is nullptr.
void read_streams(const LocalArray& x, const LocalArray* mix, LocalArray& out);
// Copies of `x` ([tokens, hidden]) in every stream.
void copy_to_streams(const LocalArray& x, LocalArray& out);
void write_streams(const LocalArray& x, const LocalArray& branch, const LocalArray& mix, LocalArray& out);

}  // namespace shardplan
