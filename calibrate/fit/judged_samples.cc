// Tables that no row is fitted on, but which the prices answer: MLA's batched products, DeepEP's dispatch and combine.
#include <cmath>
#include <memory>

#include "calibrate/fit/collective_rows.h"
#include "calibrate/fit/kernel_samples.h"
#include "costmodel/kernels/kernel_forms.h"

namespace shardplan {
namespace {

constexpr double kNope = 128;     // of MLA: columns of a head without its rotary part, and of a value
constexpr double kLatent = 512;

// One product per head, with the weights of the model's up-projection.
std::vector<FitInput> batched_products(const MeasuredTable& table, const HardwareProfile& hardware) {
  struct Samples {
    KernelDevice device;
    std::vector<TileShape> tiles;
    std::vector<GemmShape> shapes;
  };
  std::map<std::string, std::pair<FitInput, std::shared_ptr<Samples>>> by_format;
  for (const Measurement& cell : table.cells) {
    const TableFormat* format = table_format(table.text_or(cell.row, "bmm_dtype", "bfloat16"));
    if (format == nullptr) continue;
    auto& [input, samples] = by_format[format->name];
    if (!samples) {
      samples = std::make_shared<Samples>();
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
    input.predict = [samples = samples](std::size_t i, const double* p) { return tile_gemm_us(samples->shapes[i], samples->device, p, samples->tiles); };
    out.push_back(std::move(input));
  }
  return out;
}

// Bytes that a rank sends to others: low latency, a copy for each expert (dispatch in fp8 with scales and a header); normal, a
// bf16 copy for each rank that has one of the token's experts.
double sent_bytes(const MeasuredTable& table, const Measurement& cell, bool dispatch, int ranks) {
  const double hidden = table.number(cell.row, "hidden_size");
  const double per_token = table.number(cell.row, "num_topk");
  const double others = 1 - 1.0 / ranks;
  if (table.table.find("_ll_") != std::string::npos) return cell.swept * per_token * (dispatch ? hidden + 4 * hidden / 128 + 16 : 2 * hidden) * others;
  return cell.swept * ranks * (1 - std::pow(others, per_token)) * 2 * hidden * others;
}

// Priced as an all-to-all.
std::vector<FitInput> expert_exchanges(const MeasuredTable& table, const HardwareProfile& hardware) {
  const bool low_latency = table.table.find("_ll_") != std::string::npos;
  std::vector<FitInput> out;
  for (const bool dispatch : {true, false}) {
    const auto samples = std::make_shared<PricedCollectives>(hardware, CollectiveKind::kAllToAll, true);
    FitInput input;
    for (std::size_t c = dispatch ? 0 : 1; c < table.cells.size(); c += 2) {
      const Measurement& cell = table.cells[c];
      const int ranks = hardware.node.devices * static_cast<int>(table.number(cell.row, "node_num"));
      const double sent = sent_bytes(table, cell, dispatch, ranks);
      samples->add({.sent_bytes = sent, .ranks = ranks});
      add_sample(input, table, cell, hash_of({sent, static_cast<double>(ranks)}), sent);
    }
    if (samples->empty()) continue;
    input.key = std::string(low_latency ? "deepep_ll_" : "deepep_normal_") + (dispatch ? "dispatch" : "combine");
    input.collectives = {"all_to_all"};
    input.on = source_of(table);
    input.predict = [samples, rows = input.collectives](std::size_t i, const double* p) { return samples->predicted_us(i, rows, p); };
    out.push_back(std::move(input));
  }
  return out;
}

}  // namespace

std::vector<FitInput> judged_inputs(const MeasuredTable& table, const HardwareProfile& hardware) {
  if (table.family == "mla_bmm") return batched_products(table, hardware);
  if (table.table.find("deepep") != std::string::npos) return expert_exchanges(table, hardware);
  return {};
}

}  // namespace shardplan
