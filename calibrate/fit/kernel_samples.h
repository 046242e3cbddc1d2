// From measured tables to samples of kernel families: shapes, what physics forbids left out and counted.
#pragma once

#include <vector>

#include "calibrate/fit/kernel_fit.h"
#include "calibrate/fit/measured_table.h"
#include "costmodel/kernels/kernel_forms.h"
#include "hwprofiles/profile.h"

namespace shardplan {

// FitInput::on of a table: "measured here: vllm 0.24.0 gemm_perf".
[[nodiscard]] inline std::string source_of(const MeasuredTable& table) {
  return table.origin + ": " + table.backend + " " + table.version + " " + table.table;
}

// What every sample of an input has. `regime` is x of RegimeSpread.
inline void add_sample(FitInput& input, const MeasuredTable& table, const Measurement& cell, std::uint64_t shape, double regime) {
  input.microseconds.push_back(cell.microseconds);
  input.cell.push_back(static_cast<std::size_t>(&cell - table.cells.data()));
  input.shape.push_back(shape);
  input.regime.push_back(regime);
}

// One FitInput per (family, format, head size, ...) that the table holds; none for tables of other kinds.
[[nodiscard]] std::vector<FitInput> gemm_inputs(const MeasuredTable& table, const HardwareProfile& hardware);
[[nodiscard]] std::vector<FitInput> attention_inputs(const MeasuredTable& table, const HardwareProfile& hardware);
[[nodiscard]] std::vector<FitInput> mla_inputs(const MeasuredTable& table, const HardwareProfile& hardware);
[[nodiscard]] std::vector<FitInput> experts_inputs(const MeasuredTable& table, const HardwareProfile& hardware);

[[nodiscard]] std::vector<FitInput> sampling_inputs(const MeasuredTable& table, const HardwareProfile& hardware);

// NCCL by kind, and the engines' own all-reduces inside a domain ("graph_all_reduce"); their rows are priced together, as the
// library chooses between them.
[[nodiscard]] std::vector<FitInput> collective_inputs(const MeasuredTable& table, const HardwareProfile& hardware);

// DeepEP's dispatch and combine, either kind of kernel: inside one domain, or across.
[[nodiscard]] std::vector<FitInput> exchange_inputs(const MeasuredTable& table, const HardwareProfile& hardware, bool across);

// All of the above, by the table's family.
[[nodiscard]] std::vector<FitInput> table_inputs(const MeasuredTable& table, const HardwareProfile& hardware);

// Of tables that no row is fitted on, but which the prices answer: to be judged alone.
[[nodiscard]] std::vector<FitInput> judged_inputs(const MeasuredTable& table, const HardwareProfile& hardware);

// Dense products of one format.
struct GemmSamples {
  KernelDevice device;
  std::vector<TileShape> tiles;
  std::vector<GemmShape> shapes;
  [[nodiscard]] double tile_us(std::size_t sample, const double* parameters) const { return tile_gemm_us(shapes[sample], device, parameters, tiles); }
};

// How a number format of the tables is called here and what it moves and computes in.
struct TableFormat {
  std::string name;            // "fp8_block"
  int math = 0;                // index into DeviceSpec::peak
  double weight_bytes = 2;
  double input_bytes = 2;
};
// nullptr: not a format that is known.
[[nodiscard]] const TableFormat* table_format(const std::string& dtype);
// With the peak of a math format; bf16's where the device has no units for it.
[[nodiscard]] KernelDevice device_of(const HardwareProfile& hardware, int math);

}  // namespace shardplan
