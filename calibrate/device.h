// A device backend as the program sees it: kernels to run steps with, and measurements of single shapes. Lives in a module of its
// own (calibrate/cuda/), which is loaded when it is asked for, so that the program needs no driver and no CUDA libraries.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/kernels/kernels.h"
#include "calibrate/payload_transport.h"
#include "calibrate/records/record.h"
#include "calibrate/run/node_case.h"
#include "calibrate/run/stopping_rule.h"
#include "calibrate/storage.h"

namespace shardplan {

struct DeviceTiming {
  SampleSummary seconds;
  std::size_t samples = 0;
  double clock_mhz = 0;    // of the multiprocessors meanwhile; 0: not told
  std::string note;        // what was chosen: "algorithm 67 tile 20 split-k 1 of 8"
  bool is_correct = true;  // a few of the numbers that it made are what the host makes of its operands
  std::string library;     // of several that were measured whose it is: "cudnn"; else empty
};

class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;
  [[nodiscard]] virtual int devices() const = 0;
  [[nodiscard]] virtual RecordHeader header() const = 0;
  // One line on what is missing of what it could measure with; "" where nothing is.
  [[nodiscard]] virtual std::string remark() const { return ""; }
  // Values in host memory; each thread takes a device in turn.
  [[nodiscard]] virtual const Kernels& kernels(Storage storage) const = 0;
  // Carries the numbers of messages between the ranks' devices; nullptr where threads share a device, whose messages then pass
  // through the host. `envelopes` of this process's threads, or of the processes of a launcher, which all call this at once;
  // EnvironmentError naming two processes that would use one device.
  [[nodiscard]] virtual std::unique_ptr<PayloadMover> mover(Transport& envelopes, Transport::Milliseconds timeout) = 0;
  // One for each implementation; none of what this backend does not measure. EnvironmentError when a call fails.
  [[nodiscard]] virtual std::vector<DeviceTiming> time(const NodeCase& node_case, const StoppingRule& rule) = 0;
};

// The module's only symbol: makes the backend. EnvironmentError without a device.
using OpenDeviceFunction = DeviceBackend* (*)();
inline constexpr const char* kOpenDeviceSymbol = "shardplan_open_device";

}  // namespace shardplan
