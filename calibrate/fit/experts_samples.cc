// Routed experts: the loads that the collectors drew, for the rank that was timed (the busiest).
#include <algorithm>
#include <cmath>
#include <memory>

#include "calibrate/fit/kernel_samples.h"
#include "costmodel/kernels/kernel_forms.h"

namespace shardplan {
namespace {

constexpr double kOverPeak = 1.02;
constexpr int kDraws = 5;
// Kernels of 4-bit experts choose among many tactics, and tables jump to twice the time and back between neighbouring
// sizes: a kernel can be run with a bad tactic, not with a better one than it has.
constexpr double kBadTactic = 0.2;

struct Samples {
  KernelDevice device;
  std::vector<ExpertsShape> shapes;
};

struct Dice {
  std::uint64_t state;
  double next() {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state >> 11) / 9007199254740992.0;
  }
};

// Token t of an even load picks experts t, t+stride, t+2*stride, ...
std::vector<double> even_loads(std::int64_t tokens, std::int64_t experts, std::int64_t per_token) {
  std::vector<double> loads(static_cast<std::size_t>(experts), static_cast<double>(tokens / experts * per_token));
  const std::int64_t stride = (experts + per_token - 1) / per_token;
  for (std::int64_t t = 0; t < tokens % experts; ++t) {
    for (std::int64_t i = 0; i < per_token; ++i) ++loads[static_cast<std::size_t>((t + i * stride) % experts)];
  }
  return loads;
}

// Loads drawn from a power law, scaled to all picks and rounded; the heaviest rank's experts first.
std::vector<double> power_law_loads(double tokens, std::int64_t experts, double per_token, std::int64_t ranks, double alpha, Dice& dice) {
  const double picks = tokens * per_token;
  const bool many = picks > static_cast<double>(experts);
  const double low = std::pow(many ? 1.0 : 0.01, 1 - alpha);
  const double high = std::pow(many ? std::max(tokens * 0.8, 1.0) : 2.0, 1 - alpha);
  std::vector<double> loads(static_cast<std::size_t>(experts));
  double sum = 0;
  for (double& load : loads) {
    load = std::pow((high - low) * dice.next() + low, 1 / (1 - alpha));
    sum += load;
  }
  double missing = picks;
  for (double& load : loads) {
    load = std::round(load / sum * picks);
    missing -= load;
  }
  for (std::size_t i = 0; missing != 0 && i < loads.size() * 64; ++i) {   // the rounding's rest, one by one
    double& load = loads[i % loads.size()];
    if (missing > 0) { ++load; --missing; }
    else if (load > 0) { --load; ++missing; }
  }
  const std::size_t local = loads.size() / static_cast<std::size_t>(ranks);
  std::size_t heaviest = 0;
  double most = -1;
  for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) {
    double total = 0;
    for (std::size_t e = r * local; e < (r + 1) * local; ++e) total += loads[e];
    if (total > most) { most = total; heaviest = r; }
  }
  return {loads.begin() + static_cast<std::ptrdiff_t>(heaviest * local), loads.begin() + static_cast<std::ptrdiff_t>((heaviest + 1) * local)};
}

void add_loads(const std::vector<double>& loads, std::size_t local, double weight, ExpertsShape& shape) {
  for (std::size_t e = 0; e < local; ++e) {
    shape.rows += weight * loads[e];
    shape.active += loads[e] > 0 ? weight : 0;
    for (std::size_t i = 0; i < kGroupTiles.size(); ++i) shape.tiles[i] += weight * std::ceil(loads[e] / kGroupTiles[i]);
  }
}

// What the row of the table says, but for the tokens.
struct Series {
  std::int64_t experts, per_token, ranks;
  double alpha;
};

// The loads themselves, where the row tells them.
bool takes_told_loads(const MeasuredTable& table, std::size_t row, ExpertsShape& shape) {
  const auto told = [&](const char* column) { return std::stod(table.text_or(row, column, "0")); };
  if (told("active") <= 0) return false;
  shape.rows = told("rows");
  shape.active = told("active");
  shape.tiles = {told("tiles_16"), told("tiles_32"), told("tiles_64"), told("tiles_128")};
  return true;
}

void fill_loads(const Series& series, ExpertsShape& shape) {
  const auto local = static_cast<std::size_t>(series.experts / series.ranks);
  if (series.alpha <= 0) {
    add_loads(even_loads(static_cast<std::int64_t>(shape.tokens), series.experts, series.per_token), local, 1, shape);
    return;
  }
  Dice dice{hash_of({shape.tokens, static_cast<double>(series.experts), static_cast<double>(series.per_token), static_cast<double>(series.ranks), series.alpha})};
  for (int draw = 0; draw < kDraws; ++draw) {
    add_loads(power_law_loads(shape.tokens, series.experts, static_cast<double>(series.per_token), series.ranks, series.alpha, dice), local, 1.0 / kDraws, shape);
  }
}

}  // namespace

std::vector<FitInput> experts_inputs(const MeasuredTable& table, const HardwareProfile& hardware) {
  std::map<std::string, std::pair<FitInput, std::shared_ptr<Samples>>> by_format;
  for (const Measurement& cell : table.cells) {
    const TableFormat* format = table_format(table.text_or(cell.row, "moe_dtype", "bfloat16"));
    if (format == nullptr) continue;
    const std::string source = table.text_or(cell.row, "kernel_source", "");
    const bool gated = source.find("nongated") == std::string::npos;
    const bool low_latency = source.find("min_latency") != std::string::npos;
    auto& [input, samples] = by_format[format->name + (low_latency ? "@min_latency" : "")];
    if (!samples) {
      samples = std::make_shared<Samples>();
      samples->device = device_of(hardware, format->math);
    }
    const std::string distribution = table.text(cell.row, "distribution");
    const std::size_t digits = distribution.find_first_of("0123456789");
    const Series series{static_cast<std::int64_t>(table.number(cell.row, "num_experts")), static_cast<std::int64_t>(table.number(cell.row, "topk")),
                        static_cast<std::int64_t>(table.number(cell.row, "moe_ep_size")), digits == std::string::npos ? 0 : std::stod(distribution.substr(digits))};
    if (table.backend == "sglang" && series.ranks > 1) { ++input.dropped["does not shrink with expert parallelism"]; continue; }
    ExpertsShape shape{.tokens = cell.swept, .per_token = static_cast<double>(series.per_token), .experts = static_cast<double>(series.experts)};
    shape.hidden = table.number(cell.row, "hidden_size");
    shape.width = table.number(cell.row, "inter_size") / table.number(cell.row, "moe_tp_size");
    shape.matrices = gated ? 3 : 2;
    shape.weight_bytes = format->weight_bytes;
    if (!takes_told_loads(table, cell.row, shape)) fill_loads(series, shape);
    const double flops = 2 * shape.rows * shape.matrices * shape.hidden * shape.width;
    if (flops > kOverPeak * samples->device.flops_per_us * cell.microseconds) { ++input.dropped["faster than the peak"]; continue; }
    samples->shapes.push_back(shape);
    add_sample(input, table, cell, hash_of({shape.hidden, shape.width, shape.per_token, shape.experts, static_cast<double>(series.ranks), shape.matrices}), shape.tokens);
    input.series.push_back(static_cast<std::uint64_t>(cell.row));
  }
  std::vector<FitInput> out;
  for (auto& [format, entry] : by_format) {
    auto& [input, samples] = entry;
    input.key = "grouped_gemm." + format;
    input.on = source_of(table);
    input.form = KernelForm::kGroupedGemm;
    input.held.assign(form_parameters(input.form).size(), false);
    input.held.back() = true;   // a floor is told apart from launches only beside the machine's other formats
    if (format.find("fp4") != std::string::npos) input.slow_beyond = kBadTactic;
    input.regime_bounds = {1, 16, 256, 2048};
    input.predict = [samples](std::size_t i, const double* p) { return grouped_gemm_us(samples->shapes[i], samples->device, p); };
    out.push_back(std::move(input));
  }
  return out;
}

}  // namespace shardplan
