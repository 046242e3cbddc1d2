#include "planner/measured/serving_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace shardplan {

namespace {

struct QuantityRow {
  double Quantity3::*of;
  std::optional<double> Observed::*measured;
  double unit;  // times seconds or tokens/s/GPU
};

// By SteadyQuantity.
constexpr QuantityRow kQuantities[] = {
    {&Quantity3::tpot, &Observed::tpot, 1e3},
    {&Quantity3::ttft, &Observed::ttft, 1e3},
    {&Quantity3::throughput, &Observed::throughput, 1},
};

const QuantityRow& row_of(SteadyQuantity quantity) { return kQuantities[static_cast<std::size_t>(quantity)]; }

}  // namespace

std::optional<double> measured_of(const Observed& measured, SteadyQuantity quantity) {
  const QuantityRow& row = row_of(quantity);
  const std::optional<double>& value = measured.*row.measured;
  return value ? std::optional(row.unit * *value) : std::nullopt;
}

void predict_point(const PricedRow& row, const EngineTimes& times, SteadyQuantity quantity, MeasuredPoint& to) {
  const QuantityRow& of = row_of(quantity);
  const double wide = std::exp(kP90 * row_spread(row, times).*of.of);
  to.predicted = of.unit * serve_row(row, times).*of.of;
  to.p10 = 1 / wide;
  to.p90 = wide;
}

std::string steady_breakdown(const PricedRow& row, const EngineTimesTable& times) {
  const LoopTimes t = solve_loop(row.steps, times.resolve(row.key), row.traffic);
  std::string out = fmt::format("{:.0f} running, step {:.1f} ms, prompt {:.1f} ms", row.steps.running,
                                1e3 * t.decode_step, 1e3 * t.prefill_extra);
  double sum = 0;
  for (const double part : row.steps.decode.sum) sum += part;
  for (std::size_t p = 0; p < kStepParts; ++p) {
    const double share = row.steps.decode.sum[p] / sum;
    if (share > 0.15) out += fmt::format(", {} {:.0f} %", kStepPartNames[p], 100 * share);
  }
  return out;
}

}  // namespace shardplan
