#include "calibrate/fit/kernel_fit.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/errors.h"
#include "base/quantile.h"
#include "calibrate/fit/least_squares.h"

namespace shardplan {
namespace {

constexpr std::size_t kStartSamples = 1500;
constexpr std::size_t kFinalSamples = 6000;
constexpr std::size_t kLeastInRegime = 40;
constexpr std::size_t kLeastHeld = 12;
constexpr double kSlowWeight = 0.15;         // of a logarithm beyond FitInput::slow_beyond
constexpr double kSlowSeries = 1.8;          // median of measured over predicted

std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// An even pick of at most `most`, the same every time.
std::vector<std::size_t> picked(const std::vector<std::size_t>& all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<std::pair<std::uint64_t, std::size_t>> order;
  order.reserve(all.size());
  for (const std::size_t i : all) order.emplace_back(mixed(i + 0x1234567ULL), i);
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end());
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < most; ++i) out.push_back(order[i].second);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<double> fitted(const FitInput& input, const std::vector<std::size_t>& samples, const std::vector<double>& start, int starts) {
  LeastSquares problem;
  problem.parameters = &parameters_of(input);
  problem.held = input.held;
  problem.start = start;
  problem.samples = samples.size();
  problem.starts = starts;
  problem.residuals = [&](const double* parameters, std::vector<double>& residuals) {
    for (std::size_t j = 0; j < samples.size(); ++j) {
      const double residual = std::log(input.predict(samples[j], parameters) / input.microseconds[samples[j]]);
      const double slow = input.slow_beyond > 0 ? -residual - input.slow_beyond : 0;
      residuals[j] = slow > 0 ? -input.slow_beyond - kSlowWeight * slow : residual;
    }
  };
  return solve(problem).parameters;
}

Spread spread_of(const std::vector<double>& logs) { return {std::exp(quantile(logs, 0.1)), std::exp(quantile(logs, 0.9))}; }

void judge(const FitInput& input, const std::vector<std::size_t>& samples, FitOutcome& out) {
  std::vector<double> logs;
  std::vector<double> sizes;
  double total = 0;
  for (const std::size_t i : samples) {
    const double log = std::log(input.microseconds[i] / input.predict(i, out.model.parameters.data()));
    logs.push_back(log);
    sizes.push_back(std::abs(std::expm1(-log)));   // |predicted/measured - 1|
    total += sizes.back();
  }
  out.held_out = static_cast<std::int64_t>(samples.size());
  out.bias = quantile(logs, 0.5);
  out.held_out_p90 = quantile(sizes, 0.9);
  out.model.fit.held_out_median = quantile(sizes, 0.5);
  out.model.fit.held_out_mean = samples.empty() ? 0 : total / static_cast<double>(samples.size());
  out.model.spread = spread_of(logs);
  for (std::size_t r = 0; r < input.regime_bounds.size(); ++r) {
    std::vector<double> inside;
    for (std::size_t j = 0; j < samples.size(); ++j) {
      const double x = input.regime[samples[j]];
      if (x >= input.regime_bounds[r] && (r + 1 == input.regime_bounds.size() || x < input.regime_bounds[r + 1])) inside.push_back(logs[j]);
    }
    if (inside.size() >= kLeastInRegime) out.model.regimes.push_back({input.regime_bounds[r], spread_of(inside)});
  }
}

// Samples without the series that are slow as a whole by a first fit. Their error is then that of the others alone.
std::vector<std::size_t> without_slow_series(const FitInput& input, const std::vector<std::size_t>& samples, const std::vector<double>& parameters,
                                             std::int64_t& dropped) {
  const auto slow = slow_series(input, samples, [&](std::size_t i) { return input.predict(i, parameters.data()); });
  std::vector<std::size_t> kept;
  for (const std::size_t i : samples) {
    if (slow.contains(input.series[i])) ++dropped;
    else kept.push_back(i);
  }
  return kept;
}

}  // namespace

const std::vector<ParameterSpec>& parameters_of(const FitInput& input) {
  // base and per_rank in us, efficiency, half in MB, ramp: a collective's row, see CollectiveCoefficients.
  static const std::vector<ParameterSpec> kRow{{"base", 0.3, 60, 5, 5, ""},         {"per_rank", 0.002, 12, 1, 1, ""}, {"efficiency", 0.03, 1, 0.8, 0.8, ""},
                                               {"half", 0.001, 60, 3, 3, ""}, {"ramp", 0.01, 0.95, 0.5, 0.5, ""}};
  static const std::vector<ParameterSpec> kTwoRows = [] {
    std::vector<ParameterSpec> both = kRow;
    both.insert(both.end(), kRow.begin(), kRow.end());
    return both;
  }();
  static const std::vector<ParameterSpec> kRoofline{{"fixed", 0.01, 1e5, 1, 1, ""}, {"compute_efficiency", 1e-5, 1, 0.3, 0.3, ""},
                                                    {"memory_efficiency", 1e-5, 1, 0.3, 0.3, ""}};
  if (input.roofline) return kRoofline;
  if (input.collectives.empty()) return form_parameters(input.form);
  return input.collectives.size() == 1 ? kRow : kTwoRows;
}

std::set<std::uint64_t> slow_series(const FitInput& input, const std::vector<std::size_t>& samples, const PredictedUs& predicted) {
  std::map<std::uint64_t, std::vector<double>> ratios;
  for (const std::size_t i : samples) ratios[input.series[i]].push_back(input.microseconds[i] / predicted(i));
  std::set<std::uint64_t> slow;
  for (const auto& [series, values] : ratios) {
    if (quantile(values, 0.5) > kSlowSeries) slow.insert(series);
  }
  return slow;
}

bool is_held_out(std::uint64_t shape) { return mixed(shape) % 10 < 3; }

std::uint64_t hash_of(const std::vector<double>& values) {
  std::uint64_t h = 0x243f6a8885a308d3ULL;
  for (const double value : values) h = mixed(h ^ std::bit_cast<std::uint64_t>(value)) + 0x9e3779b97f4a7c15ULL;
  return h;
}

std::vector<double> roofline_start(const std::vector<double>& microseconds, const std::vector<double>& flops, const std::vector<double>& bytes,
                                   double flops_per_us, double bytes_per_us) {
  double shortest = 1e300;
  double compute = 0;
  double memory = 0;
  for (std::size_t i = 0; i < microseconds.size(); ++i) {
    shortest = std::min(shortest, microseconds[i]);
    compute = std::max(compute, flops[i] / microseconds[i] / flops_per_us);
    memory = std::max(memory, bytes[i] / microseconds[i] / bytes_per_us);
  }
  return {std::clamp(shortest / 2, 0.02, 1e4), std::clamp(compute > 0 ? compute : 0.3, 1e-4, 0.95), std::clamp(memory > 0 ? memory : 0.3, 1e-4, 0.95)};
}

FitOutcome fit_kernel(const FitInput& input) {
  FitOutcome out{.key = input.key, .collectives = input.collectives, .roofline = input.roofline, .model = {}, .dropped = input.dropped};
  if (input.microseconds.size() < input.least_samples) {
    throw InputError(input.key, "has too few usable samples", std::to_string(input.least_samples) + " at least");
  }
  std::vector<std::size_t> train;
  std::vector<std::size_t> test;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < input.microseconds.size(); ++i) {
    (is_held_out(input.shape[i]) ? test : train).push_back(i);
    all.push_back(i);
  }
  if (train.size() < input.least_samples) train = all;
  const std::vector<double> rough = fitted(input, picked(train, kStartSamples), input.start, 8);
  if (!input.series.empty()) {
    std::int64_t slow = 0;
    for (std::vector<std::size_t>* samples : {&train, &test}) *samples = without_slow_series(input, *samples, rough, slow);
    all = without_slow_series(input, all, rough, slow);
    if (slow > 0) out.dropped["in series that are slow as a whole"] = slow / 2;
  }
  out.model.form = input.form;
  out.model.tiles = input.tiles;
  out.model.parameters = fitted(input, picked(train, kFinalSamples), rough, 1);
  out.model.fit.on = input.on;
  out.model.fit.points = static_cast<std::int64_t>(all.size());
  judge(input, test.size() < kLeastHeld ? all : test, out);   // too few shapes to hold any out: of the fit itself
  if (test.size() < kLeastHeld) {
    out.held_out = 0;
    out.held_out_p90 = 0;
    out.model.fit.held_out_median = 0;
    out.model.fit.held_out_mean = 0;
  }
  out.model.parameters = fitted(input, picked(all, kFinalSamples), out.model.parameters, 1);
  return out;
}

}  // namespace shardplan
