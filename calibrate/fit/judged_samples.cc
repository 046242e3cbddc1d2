// Tables that no row is fitted on, but which the prices answer: MLA's batched products, DeepEP across nodes.
#include <memory>

#include "calibrate/fit/kernel_samples.h"
#include "costmodel/kernels/kernel_forms.h"

namespace shardplan {
namespace {

constexpr double kNope = 128;     // of MLA: columns of a head without its rotary part, and of a value
constexpr double kLatent = 512;

// One product per head, with the weights of the model's up-projection.
std::vector<FitInput> batched_products(const MeasuredTable& table, const HardwareProfile& hardware) {
  std::map<std::string, std::pair<FitInput, std::shared_ptr<GemmSamples>>> by_format;
  for (const Measurement& cell : table.cells) {
    const TableFormat* format = table_format(table.text_or(cell.row, "bmm_dtype", "bfloat16"));
    if (format == nullptr) continue;
    auto& [input, samples] = by_format[format->name];
    if (!samples) {
      samples = std::make_shared<GemmSamples>();
      samples->device = device_of(hardware, format->math);
      const auto row = hardware.kernel_models.find("gemm." + format->name);
      if (row != hardware.kernel_models.end()) samples->tiles = row->second.tiles;
    }
    const bool before = table.text(cell.row, "op_name") == "mla_gen_pre";
    const GemmShape shape{cell.swept, before ? kLatent : kNope, before ? kNope : kLatent, table.number(cell.row, "num_heads"), format->weight_bytes, format->input_bytes};
    samples->shapes.push_back(shape);
    add_sample(input, table, cell, hash_of({shape.n, shape.k, shape.batch}), shape.m);
  }
  std::vector<FitInput> out;
  for (auto& [format, entry] : by_format) {
    auto& [input, samples] = entry;
    if (samples->tiles.empty()) continue;
    input.key = "gemm." + format;
    input.on = source_of(table);
    input.form = KernelForm::kTileGemm;
    input.predict = [samples = samples](std::size_t i, const double* p) { return samples->tile_us(i, p); };
    out.push_back(std::move(input));
  }
  return out;
}

}  // namespace

std::vector<FitInput> judged_inputs(const MeasuredTable& table, const HardwareProfile& hardware) {
  if (table.family == "mla_bmm") return batched_products(table, hardware);
  if (table.table.find("deepep") != std::string::npos) return exchange_inputs(table, hardware, true);
  return {};
}

}  // namespace shardplan
