#include "calibrate/cuda/clocks.h"

#include <dlfcn.h>

#include "calibrate/cuda/check.h"

namespace shardplan::cuda {
namespace {

// NVML's interface, as far as it is used here.
constexpr int kSuccess = 0;
constexpr int kSmClock = 1;
using NvmlDevice = struct nvmlDevice_st*;
using Init = int (*)();
using ByBusId = int (*)(const char*, NvmlDevice*);
using ClockInfo = int (*)(NvmlDevice, int, unsigned int*);
using Reasons = int (*)(NvmlDevice, unsigned long long*);

struct Nvml {
  ByBusId by_bus_id = nullptr;
  ClockInfo clock = nullptr;
  Reasons reasons = nullptr;

  Nvml() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto init = reinterpret_cast<Init>(dlsym(library, "nvmlInit_v2"));
    if (init == nullptr || init() != kSuccess) return;
    by_bus_id = reinterpret_cast<ByBusId>(dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2"));
    clock = reinterpret_cast<ClockInfo>(dlsym(library, "nvmlDeviceGetClockInfo"));
    reasons = reinterpret_cast<Reasons>(dlsym(library, "nvmlDeviceGetCurrentClocksThrottleReasons"));
  }
};

}  // namespace

DeviceClock device_clock(int device) {
  static const Nvml kNvml;
  DeviceClock result;
  if (kNvml.by_bus_id == nullptr) return result;
  char bus[32] = "";
  check(cudaDeviceGetPCIBusId(bus, sizeof bus, device), "bus of a device");
  NvmlDevice handle = nullptr;
  if (kNvml.by_bus_id(bus, &handle) != kSuccess) return result;
  unsigned int mhz = 0;
  if (kNvml.clock != nullptr && kNvml.clock(handle, kSmClock, &mhz) == kSuccess) result.sm_mhz = mhz;
  unsigned long long bits = 0;
  if (kNvml.reasons != nullptr && kNvml.reasons(handle, &bits) == kSuccess) result.held_back = reasons_text(bits);
  return result;
}

}  // namespace shardplan::cuda
