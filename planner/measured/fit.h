// Engine times from measured serving points: the most probable rows of the levels asked for, under the levels' spreads.
//
//   minimise  sum over measured rows of rho(log(tpot/measured)/s_tpot) + rho(log(ttft/measured)/s_ttft)
//             + sum over rows of the document of rho(log value / level spread)
//
// rho is quadratic up to one deviation and grows linearly beyond: a few wild points do not decide, and a prior does not
// hold back a value far off that many points ask for. Points of one group (model, machine, engine, precision) share the
// errors of its kernels: a group weighs as `group_points` at most. Gauss-Newton on the closed loop with derivatives by
// term; a row's spread is the posterior's. Deterministic.
// Residuals may come from elsewhere than the closed loop (a simulation of each row's benchmark): derivatives stay those
// of the closed loop, so that an iteration asks for one prediction of each row.
// Wrong: terms that always act together (a layer's gaps and its elementwise kernels) are told apart by the priors
// alone.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "planner/measured/prediction.h"

namespace shardplan {

struct FitOptions {
  double tpot_deviation = 0.05;
  double ttft_deviation = 0.4;
  double predicted_ttft_deviation = 0.2;  // of rows that `predict` predicts
  double group_points = 12;
  int iterations = 25;
  double least_log_step = 1e-5;  // of a parameter: where iterations end
  // What else says of all rows under a table: a row that it gives no TPOT for (0) is the closed loop's. The queue term
  // does not act on rows that it predicts.
  std::function<std::vector<Quantity3>(const EngineTimesTable&)> predict;
};

struct FitPoints {
  const std::vector<ServingRow>& rows;
  const std::vector<PricedRow>& priced;
  std::vector<std::size_t> use;  // which of them; illegal ones are passed over
};

// `start` with its rows of `levels` replaced by fitted ones; its other rows are kept as they are.
[[nodiscard]] EngineTimesTable fit_engine_times(const FitPoints& points, const EngineTimesTable& start,
                                                const std::vector<std::size_t>& levels, const FitOptions& options = {});
// All levels that the shipped document fits.
[[nodiscard]] EngineTimesTable fit_all(const FitPoints& points, const EngineTimesTable& start,
                                       const FitOptions& options = {});
// An overlay for the deployment that the points come from: how much slower its decode steps, its prompts and its queue
// are than `base` says, and how sure that is.
[[nodiscard]] EngineTimesTable fit_overlay(const FitPoints& points, const EngineTimesTable& base);

}  // namespace shardplan
