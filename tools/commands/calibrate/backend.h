// What a calibration runs on: the host or GPUs, in this process's threads or in the processes of a launcher.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "calibrate/device.h"
#include "calibrate/transport.h"
#include "tools/cli/flag.h"

namespace shardplan {

struct BackendFlags {
  bool cuda = false;
  std::int64_t ranks_otherwise = 4;          // when neither a flag nor a launcher says
  std::int64_t timeout_otherwise = 10'000;   // ms
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> timeout_ms;
};
[[nodiscard]] FlagGroup backend_flags(BackendFlags& flags);

struct CalibrationBackend {
  const char* name = "host";
  std::shared_ptr<DeviceBackend> device;     // nullptr: the host
  std::shared_ptr<Transport> transport;      // nullptr: threads of this process
  bool messages_between_devices = false;     // over NCCL; else through the host: ranks share a device, or are the host's
  std::int64_t ranks = 1;
  // nullptr: the host's.
  [[nodiscard]] const Kernels* kernels(Storage storage) const { return device == nullptr ? nullptr : &device->kernels(storage); }
  bool first = true;                         // of several processes the one that reports
  std::chrono::milliseconds timeout{10000};
};

// InputError when more ranks are asked for than processes were
// launched; EnvironmentError without a device.
[[nodiscard]] CalibrationBackend open_backend(const BackendFlags& flags);

}  // namespace shardplan
