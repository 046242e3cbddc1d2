// The module's entry, and the measurement of collectives on all devices of this process.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>

#include "calibrate/cuda/attention_case.h"
#include "calibrate/cuda/clocks.h"
#include "calibrate/cuda/cuda_kernels.h"
#include "calibrate/cuda/device_timer.h"
#include "calibrate/cuda/kernel_timers.h"
#include "calibrate/cuda/nccl_mover.h"
#include "calibrate/cuda/nccl_ranks.h"
#include "calibrate/device.h"
#include "calibrate/launch/launched_rank.h"

namespace shardplan::cuda {
namespace {

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
    std::string why;
    const std::string cudnn = cudnn_version(&why);
    if (!cudnn.empty()) header.libraries["cuDNN"] = cudnn;
    return header;
  }

  [[nodiscard]] std::string remark() const override {
    std::string why;
    return cudnn_version(&why).empty() ? "attention is our own kernel's alone: " + why : "";
  }

  [[nodiscard]] std::unique_ptr<PayloadMover> mover(Transport& envelopes, Transport::Milliseconds timeout) override {
    if (!envelopes.several_processes()) return envelopes.ranks() <= devices_ ? std::make_unique<NcclMover>(envelopes.ranks()) : nullptr;
    const int device = local_rank() % devices_;
    refuse_shared(envelopes, device, timeout);
    for (CudaKernels* kernels : {&fp32_, &bf16_}) kernels->keep_to(device);
    return std::make_unique<NcclMover>(envelopes.local_ranks(envelopes.ranks()).front(), device, envelopes, timeout);
  }

  [[nodiscard]] std::vector<DeviceTiming> time(const NodeCase& c, const StoppingRule& rule) override {
    check(cudaSetDevice(0), "device 0");
    try {
      if (c.kind == "grouped_gemm") return time_experts(c, rule);
      if (c.kind == "attention_decode" || c.kind == "attention_prefill") return time_attention(c, rule);
      std::vector<DeviceTiming> timings;
      if (auto timing = timed(c, rule)) timings.push_back(std::move(*timing));
      return timings;
    } catch (const DeviceMemoryError&) {
      return {};
    }
  }

 private:
  std::optional<DeviceTiming> timed(const NodeCase& c, const StoppingRule& rule) {
    if (c.kind == "gemm") return time_product(c, rule);
    if (c.kind == "cache_write") return time_cache_write(c, rule);
    if (c.kind == "sampling") return time_sampling(c, rule);
    if (c.kind == "elementwise") return time_elementwise(c, rule);
    return field(c, "message_bytes") > 0 ? time_collective(c, rule) : std::nullopt;
  }

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
  // A kernel that is loaded when first launched may wait for all that the device is doing, and a send waits for its receiver.
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  // Streams that share a connection wait for each other: ranks' sends and receives would, in a circle.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    throw shardplan::EnvironmentError(std::string("--backend cuda: no CUDA device here") +
                                      (status != cudaSuccess ? std::string(" (") + cudaGetErrorString(status) + ")" : ""));
  }
  return new shardplan::cuda::CudaBackend(devices);
}
