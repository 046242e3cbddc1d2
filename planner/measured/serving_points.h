// One quantity of a priced serving row as a measured point: prediction, interval, and what its step is made of.
#pragma once

#include "planner/measured/point_report.h"
#include "planner/measured/prediction.h"

namespace shardplan {

enum class SteadyQuantity : std::uint8_t { kTpot, kTtft, kOutputPerGpu };  // milliseconds, milliseconds, 1/s

// What was measured of it, in its unit.
[[nodiscard]] std::optional<double> measured_of(const Observed& measured, SteadyQuantity quantity);
void predict_point(const PricedRow& row, const EngineTimes& times, SteadyQuantity quantity, MeasuredPoint& to);
inline void predict_point(const PricedRow& row, const EngineTimesTable& times, SteadyQuantity quantity,
                          MeasuredPoint& to) {
  predict_point(row, times.resolve(row.key), quantity, to);
}
// "128 running; gemm 61 %, attention_decode 22 %": of a decode step.
[[nodiscard]] std::string steady_breakdown(const PricedRow& row, const EngineTimesTable& times);

}  // namespace shardplan
