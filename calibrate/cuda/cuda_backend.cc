// The module's entry, and the measurement of single shapes on device 0 (collectives: on all devices of this process).
#include <algorithm>
#include <chrono>
#include <map>

#include "calibrate/cuda/blaslt_product.h"
#include "calibrate/cuda/clocks.h"
#include "calibrate/cuda/cuda_kernels.h"
#include "calibrate/cuda/grouped_product.h"
#include "calibrate/cuda/index_logic.h"
#include "calibrate/cuda/launchers.h"
#include "calibrate/cuda/nccl_mover.h"
#include "calibrate/cuda/nccl_ranks.h"
#include "calibrate/device.h"
#include "calibrate/launch/launched_rank.h"

namespace shardplan::cuda {
namespace {

constexpr double kRotatingBytes = 150e6;   // more than the L2 of any of these devices
constexpr int kMostCopies = 32;

std::int64_t field(const NodeCase& c, const char* name) {
  for (const auto& [key, value] : c.shape) {
    if (key == name) return value;
  }
  return 0;
}

int copies_of(double bytes) { return static_cast<int>(std::clamp(kRotatingBytes / std::max(bytes, 1.0), 1.0, static_cast<double>(kMostCopies))); }

// Replays a captured graph of `launches` until the rule is content.
DeviceTiming sampled(const CapturedGraph& graph, cudaStream_t stream, int launches, const StoppingRule& rule, std::string note) {
  std::vector<double> samples;
  graph.launch(stream);
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  do {
    Event start;
    Event end;
    start.record(stream);
    graph.launch(stream);
    end.record(stream);
    samples.push_back(end.seconds_since(start) / launches);
  } while (!rule.is_enough(samples, elapsed()));
  const std::size_t count = samples.size();
  const DeviceClock clock = device_clock(0);
  if (!clock.held_back.empty()) note += "; held back by " + clock.held_back;
  return {summary_of(std::move(samples)), count, clock.sm_mhz, std::move(note)};
}

Buffer<float> random_floats(std::int64_t count, std::uint64_t seed, cudaStream_t stream) {
  Buffer<float> buffer(count);
  launch_random(buffer.get(), seed, count, stream);
  return buffer;
}

// Random numbers in the product's format.
Buffer<char> random_operand(std::int64_t count, ProductFormat format, std::uint64_t seed, cudaStream_t stream) {
  const Buffer<float> floats = random_floats(count, seed, stream);
  Buffer<char> operand(count * (format == ProductFormat::kFp8 ? 1 : 2));
  if (format == ProductFormat::kFp8) launch_to_fp8(floats.get(), operand.get(), 1.0F, count, stream);
  else launch_to_bf16(floats.get(), operand.get(), count, stream);
  check(cudaStreamSynchronize(stream), "random data");
  return operand;
}

DeviceTiming time_product(const NodeCase& c, const StoppingRule& rule) {
  const ProductFormat format = c.format.starts_with("fp8") ? ProductFormat::kFp8 : ProductFormat::kBf16;
  const ProductShapes shapes{field(c, "m"), field(c, "n"), field(c, "k"), format, false, std::max<std::int64_t>(field(c, "batch"), 1)};
  const std::int64_t matrices = shapes.batch;
  const OwnedStream stream;
  const BlasLt library;
  const Buffer<char> workspace(static_cast<std::int64_t>(BlasLtProduct::kWorkspace));
  BlasLtProduct product(library, shapes, workspace.get());
  const int copies = copies_of(static_cast<double>(matrices * shapes.n * shapes.k) * (format == ProductFormat::kFp8 ? 1 : 2));
  std::vector<Buffer<char>> weights;
  for (int i = 0; i < copies; ++i) weights.push_back(random_operand(matrices * shapes.n * shapes.k, format, static_cast<std::uint64_t>(i) + 2, stream.get()));
  const Buffer<char> x = random_operand(matrices * shapes.m * shapes.k, format, 1, stream.get());
  const Buffer<char> out(matrices * shapes.m * shapes.n * 2);
  product.choose(x.get(), weights.front().get(), out.get(), stream.get());
  const CapturedGraph graph(stream.get(), [&] {
    for (const Buffer<char>& w : weights) product.run(x.get(), w.get(), out.get(), stream.get());
  });
  return sampled(graph, stream.get(), copies, rule, product.choice());
}

// The routed experts of one rank in bf16, rows dealt evenly: gate and up of all experts, their activation, down.
DeviceTiming time_experts(const NodeCase& c, const StoppingRule& rule) {
  const std::int64_t experts = std::max<std::int64_t>(field(c, "experts"), 1);
  const std::int64_t rows = std::max<std::int64_t>(field(c, "rows"), 1);
  const std::int64_t hidden = field(c, "k");
  const std::int64_t wide = field(c, "n");           // gate and up together
  std::vector<std::int64_t> of_expert;
  for (std::int64_t e = 0; e < experts; ++e) of_expert.push_back(dealt_rows(rows, experts, e));
  const OwnedStream stream;
  const int copies = copies_of(static_cast<double>(experts * wide * hidden) * 3);
  std::vector<Buffer<char>> weights;
  const Buffer<char> x = random_operand(rows * hidden, ProductFormat::kBf16, 1, stream.get());
  const Buffer<char> both(rows * wide * 2), middle(rows * wide), out(rows * hidden * 2);
  std::vector<std::unique_ptr<GroupedProduct>> products;
  for (int i = 0; i < copies; ++i) {
    weights.push_back(random_operand(experts * wide * hidden, ProductFormat::kBf16, static_cast<std::uint64_t>(i) + 2, stream.get()));
    products.push_back(std::make_unique<GroupedProduct>(of_expert, wide, hidden, x, weights.back(), both));
    weights.push_back(random_operand(experts * wide / 2 * hidden, ProductFormat::kBf16, static_cast<std::uint64_t>(i) + 99, stream.get()));
    products.push_back(std::make_unique<GroupedProduct>(of_expert, hidden, wide / 2, middle, weights.back(), out));
  }
  const CapturedGraph graph(stream.get(), [&] {
    for (std::size_t i = 0; i < products.size(); i += 2) {
      products[i]->run(stream.get());
      launch_swiglu_rows(both.get(), middle.get(), rows, wide / 2, stream.get());
      products[i + 1]->run(stream.get());
    }
  });
  return sampled(graph, stream.get(), copies, rule, "cuBLAS grouped products, without permutation");
}

DeviceTiming time_attention(const NodeCase& c, const StoppingRule& rule) {
  const bool decode = c.kind == "attention_decode";
  const std::int64_t batch = field(c, "batch");
  const std::int64_t tokens = decode ? batch : batch * field(c, "tokens");
  const std::int64_t length = field(c, "context") + (decode ? 0 : field(c, "tokens"));
  const OwnedStream stream;
  std::vector<std::int64_t> query_places, key_places, heads;
  for (std::int64_t request = 0; request < batch; ++request) {
    for (std::int64_t t = 0; t < tokens / batch; ++t) query_places.insert(query_places.end(), {request, length - tokens / batch + t});
    for (std::int64_t p = 0; p < length; ++p) key_places.insert(key_places.end(), {request, p});
  }
  for (std::int64_t h = 0; h < field(c, "heads"); ++h) heads.push_back(kv_head_of(h, field(c, "heads"), field(c, "kv_heads")));
  // One request's keys at a time, as a server's kernel does: requests are launched one after the other in a graph.
  const std::int64_t rows = tokens / batch * field(c, "heads");
  const Buffer<char> q = random_operand(tokens * field(c, "heads") * field(c, "qk_dim"), ProductFormat::kBf16, 1, stream.get());
  const Buffer<char> k = random_operand(batch * length * field(c, "kv_heads") * field(c, "qk_dim"), ProductFormat::kBf16, 2, stream.get());
  const Buffer<char> v = random_operand(batch * length * field(c, "kv_heads") * field(c, "v_dim"), ProductFormat::kBf16, 3, stream.get());
  const Buffer<std::int64_t> queries(query_places), keys(key_places), kv_heads(heads);
  const Buffer<float> out(tokens * field(c, "heads") * field(c, "v_dim")), lse(tokens * field(c, "heads"));
  AttentionLaunch one{.element = Element::kBf16, .kv_head_of_head = kv_heads.get(), .tokens = tokens / batch, .heads = field(c, "heads"),
                      .kv_heads = field(c, "kv_heads"), .keys = length, .qk_dim = field(c, "qk_dim"), .v_dim = field(c, "v_dim"), .v_stride = field(c, "v_dim"),
                      .window = field(c, "window")};
  const std::int64_t splits = decode ? decode_splits(rows * batch, length, 32, multiprocessors()) : 1;
  const Buffer<float> scratch(decode_scratch_floats(one, splits));
  const CapturedGraph graph(stream.get(), [&] {
    for (std::int64_t request = 0; request < batch; ++request) {
      AttentionLaunch launch = one;
      launch.q = q.get() + 2 * request * rows * one.qk_dim;
      launch.k = k.get() + 2 * request * length * one.kv_heads * one.qk_dim;
      launch.v = v.get() + 2 * request * length * one.kv_heads * one.v_dim;
      launch.query_places = queries.get() + 2 * request * one.tokens;
      launch.key_places = keys.get() + 2 * request * length;
      launch.out = out.get() + request * rows * one.v_dim;
      launch.lse = lse.get() + request * rows;
      if (decode) launch_decode_attention(launch, splits, scratch.get(), stream.get());
      else launch_prefill_attention(launch, stream.get());
    }
  });
  return sampled(graph, stream.get(), 1, rule, std::to_string(splits) + " splits");
}

// A norm with its residual over as many bytes as the node moves.
DeviceTiming time_elementwise(const NodeCase& c, const StoppingRule& rule) {
  const std::int64_t rows = std::max<std::int64_t>(field(c, "rows"), 1);
  const std::int64_t columns = std::max<std::int64_t>(static_cast<std::int64_t>(c.bytes) / (rows * 16), 1);   // four fp32 passes
  const OwnedStream stream;
  const Buffer<float> x = random_floats(rows * columns, 1, stream.get());
  const Buffer<float> residual = random_floats(rows * columns, 2, stream.get());
  const Buffer<float> weight = random_floats(columns, 3, stream.get());
  const Buffer<float> out(rows * columns);
  const CapturedGraph graph(stream.get(), [&] { launch_rms_norm(x.get(), residual.get(), weight.get(), out.get(), rows, columns, 1e-6F, stream.get()); });
  return sampled(graph, stream.get(), 1, rule, "norm with residual");
}

// As many bytes as the node moves, from fp32 to the bf16 of a cache.
DeviceTiming time_cache_write(const NodeCase& c, const StoppingRule& rule) {
  const std::int64_t count = std::max<std::int64_t>(static_cast<std::int64_t>(c.bytes) / 6, 1);
  const OwnedStream stream;
  const Buffer<float> x = random_floats(count, 1, stream.get());
  const Buffer<char> cache(count * 2);
  const CapturedGraph graph(stream.get(), [&] { launch_to_bf16(x.get(), cache.get(), count, stream.get()); });
  return sampled(graph, stream.get(), 1, rule, "conversion to the cache's format");
}

// What kernels give back stays with the program, for the next one.
void keep_freed_memory(int device) {
  cudaMemPool_t pool = nullptr;
  std::uint64_t kept = 1ULL << 30U;
  check(cudaDeviceGetDefaultMemPool(&pool, device), "memory pool");
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept), "memory pool");
}

// Of every process the device it uses, by the id that is the device's own. NCCL has no words for two that use one.
void refuse_shared(Transport& processes, int device, Transport::Milliseconds timeout) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "properties");
  const auto ids = processes.share(std::string(properties.uuid.bytes, sizeof properties.uuid.bytes), timeout);
  for (std::size_t other = 0; other < ids.size(); ++other) {
    for (std::size_t rank = 0; rank < other; ++rank) {
      if (ids[rank] != ids[other]) continue;
      throw EnvironmentError("--backend cuda: processes " + std::to_string(rank) + " and " + std::to_string(other) +
                             " would use one device; start no more on a node than it has GPUs, or use threads (--ranks)");
    }
  }
}

class CudaBackend : public DeviceBackend {
 public:
  explicit CudaBackend(int devices) : devices_(devices), fp32_(Storage::kFp32, devices), bf16_(Storage::kBf16, devices) {
    for (int device = 0; device < devices; ++device) keep_freed_memory(device);
  }

  [[nodiscard]] int devices() const override { return devices_; }
  [[nodiscard]] const Kernels& kernels(Storage storage) const override { return storage == Storage::kFp32 ? fp32_ : bf16_; }

  [[nodiscard]] RecordHeader header() const override {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, 0), "properties of device 0");
    int runtime = 0;
    int driver = 0;
    check(cudaRuntimeGetVersion(&runtime), "version");
    check(cudaDriverGetVersion(&driver), "version");
    RecordHeader header{.backend = "cuda", .device = properties.name, .cores = properties.multiProcessorCount,
                        .last_level_cache_bytes = static_cast<double>(properties.l2CacheSize), .memory_bytes = static_cast<double>(properties.totalGlobalMem)};
    header.libraries = {{"CUDA runtime", std::to_string(runtime)}, {"CUDA driver", std::to_string(driver)}, {"cuBLASLt", std::to_string(cublasLtGetVersion())},
                        {"NCCL", NcclRanks::version()}};
    return header;
  }

  [[nodiscard]] std::unique_ptr<PayloadMover> mover(Transport& envelopes, Transport::Milliseconds timeout) override {
    if (!envelopes.several_processes()) return envelopes.ranks() <= devices_ ? std::make_unique<NcclMover>(envelopes.ranks()) : nullptr;
    const int device = local_rank() % devices_;
    refuse_shared(envelopes, device, timeout);
    for (CudaKernels* kernels : {&fp32_, &bf16_}) kernels->keep_to(device);
    return std::make_unique<NcclMover>(envelopes.local_ranks(envelopes.ranks()).front(), device, envelopes, timeout);
  }

  [[nodiscard]] std::optional<DeviceTiming> time(const NodeCase& c, const StoppingRule& rule) override {
    check(cudaSetDevice(0), "device 0");
    if (c.kind == "gemm") return time_product(c, rule);
    if (c.kind == "grouped_gemm") return c.format == "bf16" && is_gated(c) ? std::optional(time_experts(c, rule)) : std::nullopt;
    if (c.kind == "cache_write") return time_cache_write(c, rule);
    if (c.kind == "attention_decode" || c.kind == "attention_prefill") return field(c, "heads") > 0 ? std::optional(time_attention(c, rule)) : std::nullopt;
    if (c.kind == "elementwise") return time_elementwise(c, rule);
    return field(c, "message_bytes") > 0 ? time_collective(c, rule) : std::nullopt;
  }

 private:
  static bool is_gated(const NodeCase& c) { return c.graph->op_of(c.graph->nodes[c.node]).experts.gated; }

  std::optional<DeviceTiming> time_collective(const NodeCase& c, const StoppingRule& rule) {
    const auto ranks = static_cast<int>(field(c, "group"));
    if (ranks > devices_ || ranks < 2) return std::nullopt;
    auto& group = groups_[ranks];
    if (group == nullptr) group = std::make_unique<NcclRanks>(ranks);
    const std::int64_t count = std::max<std::int64_t>(field(c, "message_bytes") / 2 / ranks * ranks, ranks);
    std::vector<Buffer<char>> storage;
    std::vector<void*> whole, part;
    for (int i = 0; i < group->local(); ++i) {
      check(cudaSetDevice(i), "device");
      storage.push_back(random_operand(count, ProductFormat::kBf16, static_cast<std::uint64_t>(i) + 1, group->stream(i)));
      storage.emplace_back(count * 2);
      whole.push_back(storage[storage.size() - 2].get());
      part.push_back(storage.back().get());
    }
    const auto call = [&] {
      if (c.kind == "all_reduce") group->all_reduce(whole, count);
      else if (c.kind == "all_gather") group->all_gather(part, whole, count / ranks);
      else if (c.kind == "reduce_scatter") group->reduce_scatter(whole, part, count / ranks);
      else if (c.kind == "all_to_all") group->all_to_all(whole, part, count / ranks);
      else group->send_receive(whole, part, count);
    };
    call();
    group->wait();
    std::vector<double> samples;
    const auto begin = std::chrono::steady_clock::now();
    const auto seconds = [](auto since) { return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count(); };
    constexpr int kCalls = 10;
    do {   // as nccl-tests: several calls, the slowest device's end
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < kCalls; ++i) call();
      group->wait();
      samples.push_back(seconds(start) / kCalls);
    } while (!rule.is_enough(samples, seconds(begin)));
    const std::size_t taken = samples.size();
    return DeviceTiming{summary_of(std::move(samples)), taken, device_clock(0).sm_mhz, "NCCL " + NcclRanks::version()};
  }

  int devices_;
  CudaKernels fp32_;
  CudaKernels bf16_;
  std::map<int, std::unique_ptr<NcclRanks>> groups_;
};

}  // namespace
}  // namespace shardplan::cuda

extern "C" shardplan::DeviceBackend* shardplan_open_device() {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    throw shardplan::EnvironmentError(std::string("--backend cuda: no CUDA device here") +
                                      (status != cudaSuccess ? std::string(" (") + cudaGetErrorString(status) + ")" : ""));
  }
  return new shardplan::cuda::CudaBackend(devices);
}
