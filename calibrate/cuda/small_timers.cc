// Operations that touch each element once.
#include <algorithm>

#include "calibrate/cuda/device_timer.h"
#include "calibrate/cuda/kernel_timers.h"
#include "calibrate/cuda/launchers.h"

namespace shardplan::cuda {
namespace {

DeviceTiming time_norm(std::int64_t rows, std::int64_t bytes, const StoppingRule& rule) {
  const std::int64_t columns = std::max<std::int64_t>(bytes / (rows * 16), 1);  // four fp32 passes
  const OwnedStream stream;
  const Buffer<float> x = random_floats(rows * columns, 1, stream.get());
  const Buffer<float> residual = random_floats(rows * columns, 2, stream.get());
  const Buffer<float> weight = random_floats(columns, 3, stream.get());
  const Buffer<float> out(rows * columns);
  return sampled(stream, 1, rule, "norm with residual", [&] {
    launch_rms_norm(x.get(), residual.get(), weight.get(), out.get(), rows, columns, 1e-6F, stream.get());
  });
}

DeviceTiming time_rotary(std::int64_t rows, std::int64_t bytes, const StoppingRule& rule) {
  const std::int64_t columns = std::max<std::int64_t>(bytes / (rows * 8) / 2 * 2, 2);  // read and written in fp32
  const OwnedStream stream;
  const Buffer<float> x = random_floats(rows * columns, 1, stream.get());
  std::vector<std::int64_t> places;
  for (std::int64_t row = 0; row < rows; ++row) places.push_back(row * 7 % 4096);
  const Buffer<std::int64_t> positions(places);
  return sampled(stream, 1, rule, "rotary embedding",
                 [&] { launch_rotary(x.get(), positions.get(), rows, columns, columns, stream.get()); });
}

DeviceTiming time_activation(std::int64_t rows, std::int64_t bytes, const StoppingRule& rule) {
  const std::int64_t width = std::max<std::int64_t>(bytes / (rows * 6), 1);  // gate, up and the product in bf16
  const OwnedStream stream;
  const Buffer<char> both = random_operand(rows * 2 * width, ProductFormat::kBf16, 1, stream.get());
  const Buffer<char> out(rows * width * 2);
  return sampled(stream, 1, rule, "SwiGLU", [&] {
    launch_activate_rows(Activation::kSilu, true, both.get(), out.get(), Element::kBf16, rows, width, stream.get());
  });
}

}  // namespace

// Over as many bytes as the node moves.
std::optional<DeviceTiming> time_elementwise(const NodeCase& c, const StoppingRule& rule) {
  const std::int64_t rows = std::max<std::int64_t>(field(c, "rows"), 1);
  const auto bytes = static_cast<std::int64_t>(c.bytes);
  if (c.op == "norm" || c.op == "add") return time_norm(rows, bytes, rule);
  if (c.op == "rotary") return time_rotary(rows, bytes, rule);
  if (c.op == "activate") return time_activation(rows, bytes, rule);
  return std::nullopt;
}

// As many bytes as the node moves, from fp32 to the bf16 of a cache.
std::optional<DeviceTiming> time_cache_write(const NodeCase& c, const StoppingRule& rule) {
  const std::int64_t count = std::max<std::int64_t>(static_cast<std::int64_t>(c.bytes) / 6, 1);
  const OwnedStream stream;
  const Buffer<float> x = random_floats(count, 1, stream.get());
  const Buffer<char> cache(count * 2);
  return sampled(stream, 1, rule, "conversion to the cache's format",
                 [&] { launch_to_bf16(x.get(), cache.get(), count, stream.get()); });
}

// Of rows of fp32 logits, as many as the node reads.
std::optional<DeviceTiming> time_sampling(const NodeCase& c, const StoppingRule& rule) {
  const std::int64_t rows = std::max<std::int64_t>(field(c, "rows"), 1);
  const std::int64_t vocab = c.graph->tensor_of(c.graph->nodes[c.node].inputs[0]).extent(Dim::kVocab);
  const OwnedStream stream;
  const Buffer<float> logits = random_floats(rows * vocab, 1, stream.get());
  const Buffer<std::int32_t> tokens(rows);
  const bool drawn = c.op == kDrawnSampling;
  return sampled(stream, 1, rule,
                 drawn ? "softmax, top-k, top-p and a draw, a block for each row" : "argmax, a block for each row",
                 [&] {
                   if (drawn)
                     launch_draw(logits.get(), tokens.get(), rows, vocab, kMeasuredSampler, stream.get());
                   else
                     launch_argmax(logits.get(), tokens.get(), rows, vocab, stream.get());
                 });
}

}  // namespace shardplan::cuda
