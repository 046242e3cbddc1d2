#include "calibrate/kernels/compress.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "calibrate/token_id.h"

namespace shardplan {
namespace {

// One request's block state and where its entry reads from.
class Block {
 public:
  Block(const CompressOp& op, const LocalArray& table, float* state) : op_(op), table_(table), state_(state) {}

  void store(std::int64_t position, const float* keys, const float* gates) {
    std::copy(keys, keys + op_.columns(), slot(position, 0));
    std::copy(gates, gates + op_.columns(), slot(position, 1));
  }

  // Column `c` of the entry that ends with `last`.
  [[nodiscard]] float entry(std::int64_t last, std::int64_t c) const {
    const std::int64_t begin = std::max<std::int64_t>(0, last + 1 - op_.span());
    const std::int64_t own = last + 1 - op_.ratio;
    float most = -std::numeric_limits<float>::infinity();
    for (std::int64_t t = begin; t <= last; ++t) most = std::max(most, gate(t, column(t, own, c)));
    float sum = 0.0F;
    float mixed = 0.0F;
    for (std::int64_t t = begin; t <= last; ++t) {
      const std::int64_t at = column(t, own, c);
      const float weight = std::exp(gate(t, at) - most);
      sum += weight;
      mixed += weight * slot(t, 0)[at];
    }
    return mixed / sum;
  }

 private:
  [[nodiscard]] std::int64_t column(std::int64_t t, std::int64_t own, std::int64_t c) const {
    return op_.overlaps() && t >= own ? op_.width + c : c;
  }
  [[nodiscard]] float gate(std::int64_t t, std::int64_t column) const {
    return slot(t, 1)[column] + table_.values[t % op_.ratio * op_.columns() + column];
  }
  [[nodiscard]] float* slot(std::int64_t position, std::int64_t which) const {
    return state_ + (position % op_.span() * 2 + which) * op_.columns();
  }

  const CompressOp& op_;
  const LocalArray& table_;
  float* state_;
};

}  // namespace

void compress(const CompressInputs& inputs, const CompressOp& op, LocalArray& state, LocalArray& entries) {
  const auto& tokens = entries.dims.front().ids;
  const auto keys = offsets_of(inputs.keys.dims, {entries.dims.front()}, "keys of compressor");
  const auto gates = offsets_of(inputs.gates.dims, {entries.dims.front()}, "gates of compressor");
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    const std::int64_t row =
        offsets_of(state.dims, {{Dim::kRequests, {token_id(request_of(tokens[t]), 0)}}}, "state of compressor").front();
    Block block(op, inputs.table, state.values.data() + row);
    const std::int64_t position = position_of(tokens[t]);
    block.store(position, inputs.keys.values.data() + keys[t], inputs.gates.values.data() + gates[t]);
    if ((position + 1) % op.ratio != 0) continue;
    for (std::int64_t c = 0; c < op.width; ++c)
      entries.values[static_cast<std::int64_t>(t) * op.width + c] = block.entry(position, c);
  }
}

}  // namespace shardplan
