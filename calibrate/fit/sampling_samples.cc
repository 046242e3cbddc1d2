// Sampling: a roofline over the bytes of the logits.
#include <algorithm>

#include "calibrate/fit/kernel_samples.h"

namespace shardplan {

std::vector<FitInput> sampling_inputs(const MeasuredTable& table, const HardwareProfile& hardware) {
  constexpr std::size_t kLeastSamples = 4;
  FitInput input{.key = "sampling.sample", .on = source_of(table), .roofline = true, .least_samples = kLeastSamples};
  const double bandwidth = hardware.device.memory_bandwidth.value() * 1e-6;
  std::vector<double> bytes;
  for (const Measurement& cell : table.cells) {
    const double row_bytes = table.number(cell.row, "row_bytes");
    bytes.push_back(cell.swept * row_bytes);
    add_sample(input, table, cell, hash_of({cell.swept, row_bytes}), cell.swept);
  }
  input.start = roofline_start(input.microseconds, std::vector<double>(bytes.size(), 0), bytes, 1, bandwidth);
  input.predict = [bytes, bandwidth](std::size_t i, const double* p) { return p[0] + bytes[i] / (bandwidth * p[2]); };
  return {input};
}

}  // namespace shardplan
