// Attention by cuDNN on device 0.
#include <algorithm>
#include <limits>
#include <vector>

#include "calibrate/cuda/attention_case.h"
#include "calibrate/cuda/cudnn_attention.h"
#include "calibrate/cuda/device_timer.h"
#include "calibrate/cuda/spot_check.h"

namespace shardplan::cuda {
namespace {

constexpr std::int64_t kPage = 16;  // positions, as engines cut caches

// The library on the current device.
class Handle {
 public:
  explicit Handle(const CudnnLibrary& library) : library_(library) {
    library.check(library.create(&handle_), "handle");
  }
  ~Handle() { library_.destroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  [[nodiscard]] cudnnHandle_t get() const { return handle_; }

 private:
  const CudnnLibrary& library_;
  cudnnHandle_t handle_ = nullptr;
};

CudnnAttentionShape shape_of(const AttentionCase& a) {
  const std::int64_t length = a.decode && a.window > 0 ? std::min(a.length, a.window) : a.length;  // no more is read
  return {a.batch, a.tokens, length, a.heads, a.kv_heads, a.qk_dim, a.v_dim, a.decode ? kPage : 0};
}

// What the operands of one shape point to, but for keys and values.
struct Operands {
  Operands(const CudnnAttentionShape& s, cudaStream_t stream)
      : q(random_operand(s.batch * s.tokens * s.heads * s.qk_dim, ProductFormat::kBf16, 1, stream)),
        o(s.batch * s.tokens * s.heads * s.v_dim * 2),
        query_lengths(
            std::vector<std::int32_t>(static_cast<std::size_t>(s.batch), static_cast<std::int32_t>(s.tokens))),
        key_lengths(std::vector<std::int32_t>(static_cast<std::size_t>(s.batch), static_cast<std::int32_t>(s.length))),
        pages(s.is_paged() ? dealt_pages(s) : std::vector<std::int32_t>()),
        length(static_cast<std::int32_t>(s.length)),
        tokens(static_cast<std::int32_t>(s.tokens)) {}

  Buffer<char> q, o;
  Buffer<std::int32_t> query_lengths, key_lengths, pages;
  float scale = 0.1F;
  float lowest = std::numeric_limits<float>::lowest();
  std::int32_t length, tokens;

  [[nodiscard]] std::vector<std::pair<std::int64_t, void*>> pointers(const CudnnAttentionTensors& ids, void* k,
                                                                     void* v) {
    std::vector<std::pair<std::int64_t, void*>> result;
    const std::pair<std::int64_t, void*> all[] = {{ids.q, q.get()},
                                                  {ids.k, k},
                                                  {ids.v, v},
                                                  {ids.o, o.get()},
                                                  {ids.scale, &scale},
                                                  {ids.lowest, &lowest},
                                                  {ids.length, &length},
                                                  {ids.tokens, &tokens},
                                                  {ids.query_lengths, query_lengths.get()},
                                                  {ids.key_lengths, key_lengths.get()},
                                                  {ids.key_pages, pages.get()},
                                                  {ids.value_pages, pages.get()}};
    for (const auto& pointer : all) {
      if (pointer.first > 0) result.push_back(pointer);
    }
    return result;
  }
};

// The last token's last head, which sees all positions.
bool is_last_row(const CudnnAttentionShape& s, const Operands& operands, const Buffer<char>& k_cache,
                 const Buffer<char>& v_cache) {
  const std::vector<std::int32_t> pages = s.is_paged() ? dealt_pages(s) : std::vector<std::int32_t>();
  std::vector<float> k, v;
  const std::int64_t stretch = s.is_paged() ? s.page : s.length;  // positions that lie one behind the other
  for (std::int64_t position = 0; position < s.length; position += stretch) {
    const std::int64_t place =
        s.is_paged() ? pages[static_cast<std::size_t>((s.batch - 1) * s.pages() + position / s.page)] * s.page
                     : (s.batch - 1) * s.length;
    const std::int64_t at = place * s.kv_heads + s.kv_heads - 1;
    const auto add = [&](const Buffer<char>& cache, std::int64_t dim, std::vector<float>& to) {
      const auto numbers = numbers_of(cache, ProductFormat::kBf16,
                                      {.first = at * dim,
                                       .count = dim,
                                       .stride = s.kv_heads * dim,
                                       .rows = std::min(stretch, s.length - position)});
      to.insert(to.end(), numbers.begin(), numbers.end());
    };
    add(k_cache, s.qk_dim, k);
    add(v_cache, s.v_dim, v);
  }
  const std::int64_t row = s.batch * s.tokens * s.heads - 1;
  const auto q = numbers_of(operands.q, ProductFormat::kBf16, row * s.qk_dim, s.qk_dim);
  return are_close(numbers_of(operands.o, ProductFormat::kBf16, row * s.v_dim, s.v_dim),
                   attended(q, k, v, static_cast<double>(operands.scale)), 0.05);
}

// The first that can be built, and which it was; nullptr: none.
std::unique_ptr<CudnnPlan> first_plan(const CudnnLibrary& library,
                                      const std::vector<CudnnDescriptorPtr>& configurations,
                                      const CudnnDescriptor& device, std::size_t& which) {
  for (which = 0; which < configurations.size(); ++which) {
    try {
      return std::make_unique<CudnnPlan>(library, *configurations[which], device);
    } catch (const CudnnError&) {
      continue;  // the next one
    }
  }
  return nullptr;
}

}  // namespace

std::string cudnn_version(std::string* why) {
  const CudnnLibrary* library = cudnn_library(why);
  return library != nullptr ? library->version_text() : "";
}

std::optional<DeviceTiming> time_cudnn_attention(const AttentionCase& a, const StoppingRule& rule) {
  const CudnnLibrary* library = cudnn_library();
  if (library == nullptr || a.shared_kv || (a.window > 0 && !a.decode)) return std::nullopt;
  const CudnnAttentionShape shape = shape_of(a);
  const OwnedStream stream;
  const Handle handle(*library);
  library->check(library->set_stream(handle.get(), stream.get()), "stream");
  CudnnGraph graph(*library);
  const CudnnAttentionTensors ids = build_attention(graph, shape);
  const CudnnDescriptorPtr device = cudnn_device(*library, handle.get());
  const auto configurations = cudnn_configurations(*library, graph, *device);
  std::size_t which = 0;
  const auto plan = first_plan(*library, configurations, *device, which);
  if (plan == nullptr) return std::nullopt;
  const std::int64_t k_count = shape.cached_positions() * shape.kv_heads * shape.qk_dim;
  const std::int64_t v_count = shape.cached_positions() * shape.kv_heads * shape.v_dim;
  const int copies = copies_of(static_cast<double>(2 * (k_count + v_count)));
  Operands operands(shape, stream.get());
  std::vector<Buffer<char>> caches;
  std::vector<CudnnDescriptorPtr> packs;  // one for each copy
  const Buffer<char> workspace(plan->workspace_bytes());
  for (int i = 0; i < copies; ++i) {
    const auto seed = static_cast<std::uint64_t>(2 * i) + 2;
    caches.push_back(random_operand(k_count, ProductFormat::kBf16, seed, stream.get()));
    caches.push_back(random_operand(v_count, ProductFormat::kBf16, seed + 1, stream.get()));
    packs.push_back(cudnn_operands(
        *library, operands.pointers(ids, caches[caches.size() - 2].get(), caches.back().get()), workspace.get()));
  }
  const std::string note = "cuDNN " + library->version_text() + ", configuration " + std::to_string(which + 1) +
                           " of " + std::to_string(configurations.size()) +
                           (shape.is_paged() ? ", pages of " + std::to_string(kPage) : "");
  DeviceTiming timing = sampled(stream, copies, rule, note, [&] {
    for (const auto& pack : packs) plan->run(handle.get(), *pack);
  });
  stream.wait();
  timing.is_correct = is_last_row(shape, operands, caches[caches.size() - 2], caches.back());
  timing.library = "cudnn";
  return timing;
}

}  // namespace shardplan::cuda
