#include <algorithm>
#include <array>
#include <memory>

#include "calibrate/fit/kernel_samples.h"
#include "costmodel/kernels/kernel_forms.h"

namespace shardplan {
namespace {

constexpr double kOverPeak = 1.02;        // clocks vary by a little
constexpr double kOverBandwidth = 1.05;
constexpr double kCold = 150e6;           // bytes that no cache holds
constexpr double kHostFloor = 10;         // us: no kernel of this size takes that long by itself

std::vector<TileShape> free_tiles() {
  return {{64, 64}, {64, 128}, {128, 64}, {128, 128}, {64, 256}, {256, 64}, {128, 256}, {256, 128}};
}

// Kernels that pick the tile by rows alone.
std::vector<TileShape> dispatched_tiles() { return {{64, 64, 64}, {64, 128, 128}, {128, 128}}; }

// Tables whose times hold a kernel that quantises the input first.
bool quantises_apart(const std::string& backend, const std::string& format) {
  if (backend == "deepgemm") return false;
  return (format == "fp8" && backend != "trtllm") || format == "fp8_block" || format == "nvfp4";
}

std::size_t parameter_index(KernelForm form, std::string_view name) {
  const auto& specs = form_parameters(form);
  return static_cast<std::size_t>(std::find_if(specs.begin(), specs.end(), [&](const ParameterSpec& s) { return s.name == name; }) - specs.begin());
}

// The time that the smallest products take, which is the host's where it is long.
double floor_of(const FitInput& input, const std::vector<GemmShape>& shapes) {
  std::vector<double> small;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].m <= 16 && shapes[i].n * shapes[i].k <= 1 << 20) small.push_back(input.microseconds[i]);
  }
  if (small.empty()) return 0;
  std::nth_element(small.begin(), small.begin() + static_cast<std::ptrdiff_t>(small.size() / 2), small.end());
  return small[small.size() / 2];
}

// Parameters that do not apply to this library's kernel are held without effect, the others start where it is likely to be.
void set_start(FitInput& input, const std::string& backend, const std::string& format, const std::string& architecture) {
  const auto& specs = form_parameters(input.form);
  input.held.assign(specs.size(), false);
  for (const ParameterSpec& spec : specs) input.start.push_back(spec.start);
  const auto set = [&](const char* name, double value, bool held) {
    const std::size_t i = parameter_index(input.form, name);
    input.start[i] = value;
    input.held[i] = held;
  };
  const bool apart = quantises_apart(backend, format);
  set("quant_row", apart ? 5 : 1e-4, !apart);
  set("quant_byte", apart ? 3 : 1e-4, !apart);
  if (!apart) return;
  set("t0", 5, false);
  set("ceil", 2, false);
  if (format == "fp8_block" || (format == "fp8" && architecture == "hopper")) set("cred", 1000, true);   // k is never split
}

}  // namespace

const TableFormat* table_format(const std::string& dtype) {
  static const std::map<std::string, TableFormat> kFormats{
      {"bfloat16", {"bf16", 0, 2, 2}},          {"float16", {"bf16", 0, 2, 2}},
      {"fp8", {"fp8", 1, 1, 1}},                {"fp8_block", {"fp8_block", 1, 1.000244, 1}},
      {"nvfp4", {"nvfp4", 2, 0.5625, 0.5625}},  {"w4a16_mxfp4", {"mxfp4", 0, 0.53125, 2}},
      {"int4_wo", {"int4", 0, 0.515625, 2}},    {"w4a8_mxfp4_mxfp8", {"mxfp4_mxfp8", 1, 0.53125, 1.03125}},
      {"int8_wo", {"int8_wo", 0, 1, 2}},        {"w4afp8", {"w4afp8", 1, 0.515625, 1}},
      {"sq", {"int8", 3, 1, 1}},                {"int8", {"int8", 3, 1, 1}}};
  const auto found = kFormats.find(dtype);
  return found == kFormats.end() ? nullptr : &found->second;
}

KernelDevice device_of(const HardwareProfile& hardware, int math) {
  const double peak = hardware.device.peak[static_cast<std::size_t>(math)].value();
  return {static_cast<double>(hardware.device.sm_count), (peak > 0 ? peak : hardware.device.peak[0].value()) * 1e-6, hardware.device.memory_bandwidth.value() * 1e-6};
}

std::vector<FitInput> gemm_inputs(const MeasuredTable& table, const HardwareProfile& hardware) {
  std::map<std::string, std::pair<FitInput, std::shared_ptr<GemmSamples>>> by_format;
  for (const Measurement& cell : table.cells) {
    const TableFormat* format = table_format(table.text_or(cell.row, "gemm_dtype", "bfloat16"));
    if (format == nullptr) continue;
    auto& [input, samples] = by_format[format->name];
    if (!samples) {
      samples = std::make_shared<GemmSamples>();
      samples->device = device_of(hardware, format->math);
      samples->tiles = format->name == "fp8" && quantises_apart(table.backend, format->name) && hardware.device.architecture == "hopper" ? dispatched_tiles() : free_tiles();
    }
    const GemmShape shape{cell.swept, table.number(cell.row, "n"), table.number(cell.row, "k"), 1, format->weight_bytes, format->input_bytes};
    if (shape.m <= 0) { ++input.dropped["no rows"]; continue; }
    if (2 * shape.m * shape.n * shape.k > kOverPeak * samples->device.flops_per_us * cell.microseconds) { ++input.dropped["faster than the peak"]; continue; }
    const double bytes = shape.n * shape.k * shape.weight_bytes;
    if (bytes > kCold && bytes > kOverBandwidth * samples->device.bytes_per_us * cell.microseconds) { ++input.dropped["over the memory bandwidth"]; continue; }
    samples->shapes.push_back(shape);
    add_sample(input, table, cell, hash_of({shape.n, shape.k}), shape.m);
  }
  std::vector<FitInput> out;
  for (auto& [format, entry] : by_format) {
    auto& [input, samples] = entry;
    const double floor = floor_of(input, samples->shapes);
    input.key = "gemm." + format;
    input.on = source_of(table);
    input.form = KernelForm::kTileGemm;
    input.tiles = samples->tiles;
    if (floor > kHostFloor) {
      input.dropped["host-bound: a floor of " + std::to_string(static_cast<int>(floor)) + " us"] += static_cast<std::int64_t>(input.microseconds.size());
      input.microseconds.clear();
    }
    input.regime_bounds = {1, 64, 1024};
    set_start(input, table.backend, format, hardware.device.architecture);
    input.predict = [samples](std::size_t i, const double* parameters) {
      return samples->tile_us(i, parameters) + quantisation_us(samples->shapes[i], samples->device, parameters);
    };
    out.push_back(std::move(input));
  }
  return out;
}

}  // namespace shardplan
