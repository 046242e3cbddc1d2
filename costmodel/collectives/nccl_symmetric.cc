// NCCL's kernels over symmetric memory: time and number of thread blocks, and which of them it takes.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/errors.h"
#include "costmodel/collectives/nccl_tuner.h"

namespace shardplan {
namespace {

constexpr double kGiBPerMicrosecond = 1073.741824;   // bytes per us of 1 GiB/s
constexpr int kMostBlocks = 64;
constexpr double kEnough = 1.025;                    // of the time with the most blocks
constexpr double kPerBlock = 0.025;                  // what a block's use of an SM counts

struct Kernel {
  std::string_view name;
  bool low_latency = false;     // flag and data in one store
  bool multicast = false;
};

std::vector<Kernel> kernels_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return {{"AGxLL_R", true, false}, {"AGxLLMC_R", true, true}, {"RSxLD_AGxST", false, false}, {"RSxLDMC_AGxSTMC", false, true}};
    case CollectiveKind::kAllGather: return {{"LL", true, false}, {"LLMC", true, true}, {"ST", false, false}, {"STMC", false, true}};
    case CollectiveKind::kReduceScatter: return {{"LL", true, false}, {"LD", false, false}, {"LDMC", false, true}};
    default: throw InternalError("no symmetric kernel for this collective");
  }
}

// Smooth min(x, ceiling) and max(0, x).
double softmin(double x, double ceiling, double softness) {
  return ceiling - softness * std::log1p(std::expm1(ceiling / softness) * std::exp(-x / softness));
}
double softplus(double x) { return x >= 100 ? x : std::log1p(std::exp(x)); }

struct Rates {
  double base, per_block, peak;
};

Rates rates_of(NcclArch arch, CollectiveKind kind, const Kernel& kernel) {
  const bool all_reduce = kind == CollectiveKind::kAllReduce;
  const bool fast = all_reduce && kernel.multicast && !kernel.low_latency;
  if (arch == NcclArch::kHopper) return {kernel.low_latency ? 4.5 : 7.8, all_reduce ? 65.0 : 44.0, fast ? 480.0 : 320.0};
  const double low = kind == CollectiveKind::kAllGather ? 8.5 : 11;
  return {kernel.low_latency ? low : all_reduce ? 19.5 : 13.0, 55, fast ? 1000.0 : 600.0};
}

double kernel_us(NcclArch arch, double n, CollectiveKind kind, const Kernel& kernel, double bytes, int blocks) {
  const Rates rates = rates_of(arch, kind, kernel);
  double bus = (n - 1) * bytes;
  double factor = kernel.multicast ? 0.55 * n : 1;
  if (kernel.low_latency) {
    bus = 9 * n * bytes;
    factor = kernel.multicast ? 1.1 : 1;
  } else if (kind == CollectiveKind::kAllReduce) {
    bus = kernel.multicast ? bytes / n + bytes : 2 * bytes * (n - 1) / n;
    factor = kernel.multicast ? n : 1;
  }
  const double bandwidth = softmin(blocks * rates.per_block * factor, rates.peak, rates.per_block) * kGiBPerMicrosecond;
  return rates.base + softplus(bus / bandwidth - 1);
}

}  // namespace

std::optional<NcclArch> nccl_arch(const DeviceSpec& device) {
  const std::string& name = device.architecture;
  if (name == "ampere") return NcclArch::kAmpere;
  if (name == "hopper") return NcclArch::kHopper;
  if (name == "blackwell" || name == "blackwell-ultra") return NcclArch::kBlackwell;
  return std::nullopt;
}

SymmetricPrediction nccl_symmetric(NcclArch arch, int ranks, CollectiveKind kind, double bytes, bool multicast) {
  ensure(arch >= NcclArch::kHopper && ranks >= 2, "symmetric kernels run on Hopper and later, over two ranks and more");
  SymmetricPrediction best;
  double least = 0;
  for (const Kernel& kernel : kernels_of(kind)) {
    if (kernel.multicast && !multicast) continue;
    const int wide = arch == NcclArch::kHopper ? 16 : 32;
    const int most = kernel.multicast && !kernel.low_latency ? (wide + ranks - 1) / ranks : kMostBlocks;
    const double enough = kEnough * kernel_us(arch, ranks, kind, kernel, bytes, most);
    int blocks = 1;
    while (blocks < most && kernel_us(arch, ranks, kind, kernel, bytes, blocks) > enough) ++blocks;
    const double us = kernel_us(arch, ranks, kind, kernel, bytes, blocks);
    const double cost = us * (1 + kPerBlock * blocks);
    if (!best.kernel.empty() && cost >= least) continue;
    best = {kernel.name, us, blocks};
    least = cost;
  }
  return best;
}

}  // namespace shardplan
