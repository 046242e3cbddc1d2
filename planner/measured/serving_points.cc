#include "planner/measured/serving_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace shardplan {

void predict_point(const PricedRow& row, const EngineTimes& times, SteadyQuantity quantity, MeasuredPoint& to) {
  const Quantity3 said = serve_row(row, times);
  const Quantity3 spread = row_spread(row, times);
  const auto set = [&](double value, double deviation) {
    const double wide = std::exp(kP90 * deviation);
    to.predicted = value;
    to.p10 = 1 / wide;
    to.p90 = wide;
  };
  if (quantity == SteadyQuantity::kTpot) set(1e3 * said.tpot, spread.tpot);
  if (quantity == SteadyQuantity::kTtft) set(1e3 * said.ttft, spread.ttft);
  if (quantity == SteadyQuantity::kOutputPerGpu) set(said.throughput, spread.throughput);
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
