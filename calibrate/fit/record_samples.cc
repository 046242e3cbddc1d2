// Records of calibrate run as samples of the fit, one input for each row of a profile and form.
#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "calibrate/fit/kernel_samples.h"
#include "calibrate/fit/record_fit.h"
#include "costmodel/kernels/kernel_forms.h"
#include "costmodel/work.h"

namespace shardplan {
namespace {

constexpr std::size_t kLeastOfRoofline = 4;
constexpr double kLoneRow = 2;  // bytes of an element as the price counts them, weights and inputs

using Records = std::vector<const Record*>;

std::uint64_t shape_of(const Record& record) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : record.key()) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

// " (cudnn 12, own 3)": whose kernels were the fastest, where several were measured.
std::string libraries_text(const Records& records) {
  std::map<std::string, int> counts;
  for (const Record* r : records) {
    if (!r->library.empty()) ++counts[r->library];
  }
  std::string text;
  for (const auto& [library, count] : counts)
    text += (text.empty() ? " (" : ", ") + library + " " + std::to_string(count);
  return text.empty() ? "" : text + ")";
}

FitInput input_of(const std::string& key, const RecordFile& file, const Records& records) {
  FitInput input{.key = key,
                 .on = "measured here: " + file.header.backend + " " + file.header.device + libraries_text(records)};
  for (const Record* r : records) {
    input.microseconds.push_back(r->microseconds);
    input.shape.push_back(shape_of(*r));
    input.regime.push_back(static_cast<double>(r->field("m") + r->field("rows") + r->field("tokens")));
  }
  return input;
}

FitInput roofline(const std::string& key, const RecordFile& file, const Records& records, const KernelDevice& device) {
  FitInput input = input_of(key, file, records);
  input.roofline = true;
  input.least_samples = kLeastOfRoofline;
  std::vector<double> flops, bytes;
  for (const Record* r : records) {
    flops.push_back(r->flops);
    bytes.push_back(r->bytes);
  }
  input.start = roofline_start(input.microseconds, flops, bytes, device.flops_per_us, device.bytes_per_us);
  input.predict = [records, device](std::size_t i, const double* p) {
    const Record& r = *records[i];
    return p[0] + std::max(r.flops / (device.flops_per_us * p[1]), r.bytes / (device.bytes_per_us * p[2]));
  };
  return input;
}

// A core's registers hold few rows and columns at once.
std::vector<TileShape> core_tiles() { return {{1, 16}, {2, 16}, {4, 16}, {8, 16}, {8, 4}, {16, 16}, {1, 64}}; }

FitInput tiles(const std::string& key, const RecordFile& file, const Records& records, const KernelDevice& device) {
  FitInput input = input_of(key, file, records);
  input.form = KernelForm::kTileGemm;
  input.tiles = core_tiles();
  for (const ParameterSpec& spec : form_parameters(input.form)) {
    const bool apart = spec.name.starts_with("quant");  // no kernel before the product
    const bool split = spec.name == "cred";             // one core splits nothing
    input.start.push_back(split || apart ? spec.neutral : spec.start);
    input.held.push_back(split || apart);
  }
  input.predict = [records, device, shapes = input.tiles](std::size_t i, const double* p) {
    const Record& r = *records[i];
    const auto field = [&](const char* name) { return static_cast<double>(r.field(name)); };
    return tile_gemm_us({field("m"), field("n"), field("k"), field("batch"), kLoneRow, kLoneRow}, device, p, shapes);
  };
  return input;
}

FitInput collective(const std::string& kind, const RecordFile& file, const Records& records, double link_bytes_per_us) {
  FitInput input = input_of(kind, file, records);
  input.collectives = {kind};
  input.least_samples = kLeastOfRoofline;
  const auto& specs = parameters_of(input);
  input.start = {specs[0].start, specs[1].start, specs[2].start, 1e-6, 0.0};  // no ramp: half is one byte
  input.held = {false, false, false, true, true};
  input.predict = [records, link_bytes_per_us](std::size_t i, const double* p) {
    const Record& r = *records[i];
    return p[0] + p[1] * static_cast<double>(r.field("group") - 1) + r.bytes / (link_bytes_per_us * p[2]);
  };
  return input;
}

// Records that say little: their samples lie far apart. They count where most do.
constexpr double kWideSpread = 0.5;

Records steady(const Records& all) {
  Records kept;
  for (const Record* r : all) {
    if (r->spread <= kWideSpread) kept.push_back(r);
  }
  return 2 * kept.size() >= all.size() ? kept : all;
}

// Row of a profile: products and attention by format, small operations by what they are.
std::string row_key(const Record& record) {
  const std::string part = record.op.empty() ? std::string(row_format(record.format)) : record.op;
  return part.empty() ? record.kind : record.kind + "." + part;
}

}  // namespace

std::vector<FitInput> record_inputs(const RecordFile& file, const HardwareProfile& machine) {
  std::map<std::string, Records> kernels;
  std::map<std::string, Records> collectives;
  for (const Record& r : file.records) {
    if (r.is_collective()) {
      collectives[r.kind].push_back(&r);
      continue;
    }
    kernels[row_key(r)].push_back(&r);
    const bool samples = r.kind == family_name(KernelFamily::kSampling);
    if (!r.op.empty() && !samples) kernels["default"].push_back(&r);  // operations that no record shows
  }
  const KernelDevice device{1, machine.device.peak[0].value() * 1e-6, machine.device.memory_bandwidth.value() * 1e-6};
  std::vector<FitInput> inputs;
  for (const auto& [key, all] : kernels) {
    const Records records = steady(all);
    inputs.push_back(roofline(key, file, records, device));
    if (records.front()->kind == "gemm" && key != "default") inputs.push_back(tiles(key, file, records, device));
  }
  const double link = machine.node.pcie.bandwidth.value() * 1e-6;
  for (const auto& [kind, records] : collectives) inputs.push_back(collective(kind, file, steady(records), link));
  return inputs;
}

}  // namespace shardplan
