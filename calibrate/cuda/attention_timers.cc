// Attention, all requests in one launch.
#include <algorithm>

#include "calibrate/cuda/attention_case.h"
#include "calibrate/cuda/cuda_kernels.h"
#include "calibrate/cuda/device_timer.h"
#include "calibrate/cuda/index_logic.h"
#include "calibrate/cuda/kernel_timers.h"
#include "calibrate/cuda/launchers.h"
#include "calibrate/cuda/spot_check.h"

namespace shardplan::cuda {
namespace {

constexpr std::int64_t kTile = 32;

AttentionCase attention_case(const NodeCase& c) {
  const bool decode = c.kind == "attention_decode";
  const std::int64_t tokens = decode ? 1 : field(c, "tokens");
  const std::int64_t length = field(c, "context") + (decode ? 0 : field(c, "tokens"));
  return {field(c, "batch"),
          tokens,
          length,
          field(c, "heads"),
          field(c, "kv_heads"),
          field(c, "qk_dim"),
          field(c, "v_dim"),
          field(c, "window"),
          decode,
          c.graph->op_of(c.graph->nodes[c.node]).attention.shared_kv};
}

// Keys and values of one layer; no values where they are the keys' first columns.
struct LayerCache {
  Buffer<char> k;
  Buffer<char> v;
  [[nodiscard]] const Buffer<char>& values() const { return v.size() > 0 ? v : k; }
};

std::int64_t value_stride(const AttentionCase& a) { return a.shared_kv ? a.qk_dim : a.v_dim; }

// What the last token's last head of the last request made of the layer.
bool is_last_row(const AttentionCase& a, const Buffer<char>& q, const LayerCache& layer, const Buffer<float>& out,
                 double scale) {
  const std::int64_t row = a.batch * a.tokens * a.heads - 1;
  std::vector<float> made(static_cast<std::size_t>(a.v_dim));
  check(cudaMemcpy(made.data(), out.get() + row * a.v_dim, made.size() * sizeof(float), cudaMemcpyDeviceToHost),
        "copy from the device");
  const std::int64_t first = a.window > 0 ? std::max<std::int64_t>(a.length - a.window, 0) : 0;
  const std::int64_t at =
      ((a.batch - 1) * a.length + first) * a.kv_heads + kv_head_of(a.heads - 1, a.heads, a.kv_heads);
  const auto of_positions = [&](const Buffer<char>& cache, std::int64_t stride, std::int64_t count) {
    return numbers_of(cache, ProductFormat::kBf16,
                      {.first = at * stride, .count = count, .stride = a.kv_heads * stride, .rows = a.length - first});
  };
  const std::vector<float> k = of_positions(layer.k, a.qk_dim, a.qk_dim);
  const std::vector<float> v = of_positions(layer.values(), value_stride(a), a.v_dim);
  const auto query = numbers_of(q, ProductFormat::kBf16, row * a.qk_dim, a.qk_dim);
  return are_close(made, attended(query, k, v, scale), 1e-3);
}

DeviceTiming time_own(const AttentionCase& a, const StoppingRule& rule) {
  const OwnedStream stream;
  std::vector<std::int64_t> query_places, heads;
  for (std::int64_t request = 0; request < a.batch; ++request) {
    for (std::int64_t t = 0; t < a.tokens; ++t)
      query_places.insert(query_places.end(), {request, a.length - a.tokens + t});
  }
  for (std::int64_t h = 0; h < a.heads; ++h) heads.push_back(kv_head_of(h, a.heads, a.kv_heads));
  const std::int64_t positions = a.batch * a.length * a.kv_heads;
  const std::int64_t own_v_dim = a.shared_kv ? 0 : a.v_dim;
  const int copies = copies_of(static_cast<double>(2 * positions * (a.qk_dim + own_v_dim)));
  std::vector<LayerCache> layers;
  for (int i = 0; i < copies; ++i) {
    const auto seed = static_cast<std::uint64_t>(2 * i) + 2;
    layers.push_back({random_operand(positions * a.qk_dim, ProductFormat::kBf16, seed, stream.get()),
                      random_operand(positions * own_v_dim, ProductFormat::kBf16, seed + 1, stream.get())});
  }
  const std::int64_t rows = a.batch * a.tokens * a.heads;
  const Buffer<char> q = random_operand(rows * a.qk_dim, ProductFormat::kBf16, 1, stream.get());
  const Buffer<std::int64_t> queries(query_places), kv_heads(heads);
  const Buffer<float> out(rows * a.v_dim), lse(rows);
  AttentionLaunch launch{.element = Element::kBf16,
                         .q = q.get(),
                         .query_places = queries.get(),
                         .kv_head_of_head = kv_heads.get(),
                         .out = out.get(),
                         .lse = lse.get(),
                         .requests = a.batch,
                         .group = a.heads % a.kv_heads == 0 ? a.heads / a.kv_heads : 1,
                         .tokens = a.tokens,
                         .heads = a.heads,
                         .kv_heads = a.kv_heads,
                         .keys = a.length,
                         .qk_dim = a.qk_dim,
                         .v_dim = a.v_dim,
                         .v_stride = value_stride(a),
                         .window = a.window};
  const std::int64_t splits =
      a.decode ? decode_splits(attention_blocks(launch), a.length, kTile, multiprocessors()) : 1;
  const Buffer<float> scratch(decode_scratch_floats(launch, splits));
  DeviceTiming timing = sampled(stream, copies, rule, "own kernel, " + std::to_string(splits) + " splits", [&] {
    for (const LayerCache& layer : layers) {
      launch.k = layer.k.get();
      launch.v = layer.values().get();
      if (a.decode)
        launch_decode_attention(launch, splits, scratch.get(), stream.get());
      else
        launch_prefill_attention(launch, stream.get());
    }
  });
  stream.wait();
  timing.is_correct = is_last_row(a, q, layers.back(), out, static_cast<double>(launch.scale));
  timing.library = "own";
  return timing;
}

}  // namespace

#ifndef SHARDPLAN_CUDNN
std::optional<DeviceTiming> time_cudnn_attention(const AttentionCase&, const StoppingRule&) { return std::nullopt; }

std::string cudnn_version(std::string* why) {
  *why = "built without cuDNN";
  return "";
}
#endif

// Our own kernel and, where it is built in and has one, cuDNN's. What that fails at is told with ours. No kernel here
// gathers chosen positions or reads compressed entries.
std::vector<DeviceTiming> time_attention(const NodeCase& c, const StoppingRule& rule) {
  const auto& op = c.graph->op_of(c.graph->nodes[c.node]);
  if (op.kind != OpKind::kAttention || op.attention.top_k > 0 || op.attention.entry_tokens > 0) return {};
  const AttentionCase a = attention_case(c);
  const bool plain = c.format.empty() || c.format == "bf16" || c.format == "fp16";
  if (!plain || a.heads == 0 || a.kv_heads == 0 || a.batch * a.tokens * a.length == 0) return {};
  std::vector<DeviceTiming> timings{time_own(a, rule)};
  try {
    auto timing = time_cudnn_attention(a, rule);
    if (timing && timing->is_correct)
      timings.push_back(std::move(*timing));
    else if (timing)
      timings.front().note += "; cuDNN's numbers are others and its time is left out";
  } catch (const EnvironmentError& error) {
    timings.front().note += std::string("; ") + error.what();
  }
  return timings;
}

}  // namespace shardplan::cuda
