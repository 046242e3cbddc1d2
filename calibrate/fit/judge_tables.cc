#include "calibrate/fit/judge_tables.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/errors.h"
#include "calibrate/fit/kernel_samples.h"

namespace shardplan {
namespace {

constexpr double kSlowSeries = 1.8;  // median of measured/predicted

// The row of the profile that answers for an input: its library's own, else the plain one; "" if there is none.
template <class Rows>
std::string answering(const Rows& rows, const std::string& key, const std::string& backend) {
  const std::string own = key + "@" + backend;   // "ll_all_gather@nccl"
  if (rows.find(own) != rows.end()) return own;
  return rows.find(key) != rows.end() ? key : "";
}

// A row of the profile with the parameters that the input's predictions take.
struct Answer {
  std::string key;
  std::vector<double> parameters;
  FitRecord fit;
  const KernelModel* model = nullptr;  // of kernels
  Spread spread;                       // of collectives
};

// In place of a row that the profile lacks beside the one that prices always have: a second, which is never the least.
constexpr std::array<double, 5> kNeverChosen{1e6, 0, 1, 1, 0.5};

Answer collective_answer(const FitInput& input, const std::string& backend, const HardwareProfile& hardware) {
  Answer answer;
  for (const std::string& name : input.collectives) {
    const std::string key = answering(hardware.collectives, name, backend);
    if (key.empty() && answer.key.empty()) return {};
    if (key.empty()) {
      answer.parameters.insert(answer.parameters.end(), kNeverChosen.begin(), kNeverChosen.end());
      continue;
    }
    const CollectiveCoefficients& row = hardware.collectives.find(key)->second;
    if (answer.key.empty()) {
      answer.key = key;
      answer.fit = row.fit;
      answer.spread = row.spread;
    }
    answer.parameters.insert(answer.parameters.end(),
                             {row.base.value() * 1e6, row.per_rank.value() * 1e6, row.efficiency,
                              static_cast<double>(row.half.value()) * 1e-6, row.ramp});
  }
  return answer;
}

Answer answer_of(const FitInput& input, const std::string& backend, const HardwareProfile& hardware) {
  if (!input.collectives.empty()) return collective_answer(input, backend, hardware);
  const std::string key = answering(hardware.kernel_models, input.key, backend);
  if (key.empty()) return {};
  const KernelModel& model = hardware.kernel_models.at(key);
  if (model.form != input.form) return {};
  return {key, model.parameters, model.fit, &model, model.spread};
}

void mark_slow_series(const FitInput& input, std::vector<JudgedSample>& samples) {
  std::map<std::uint64_t, std::vector<double>> ratios;
  for (std::size_t i = 0; i < samples.size(); ++i)
    ratios[input.series[i]].push_back(samples[i].measured_us / samples[i].predicted_us);
  std::map<std::uint64_t, bool> slow;
  for (auto& [series, values] : ratios) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    slow[series] = *middle > kSlowSeries;
  }
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].slow_series = slow[input.series[i]];
}

std::string parameter_name(const FitInput& input, std::size_t i) {
  const std::string name(parameters_of(input)[i].name);
  return input.collectives.empty() ? name : input.collectives[i / 5] + " " + name;
}

std::vector<ParameterShare> shares_of(const FitInput& input, const std::vector<double>& parameters,
                                      std::size_t sample) {
  constexpr double kStep = 1e-3;
  const double whole = input.predict(sample, parameters.data());
  std::vector<ParameterShare> shares;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    std::vector<double> moved = parameters;
    moved[i] *= 1 + kStep;
    shares.push_back(
        {parameter_name(input, i), std::log(input.predict(sample, moved.data()) / whole) / std::log(1 + kStep)});
  }
  std::stable_sort(shares.begin(), shares.end(), [](const ParameterShare& a, const ParameterShare& b) {
    return std::abs(a.share) > std::abs(b.share);
  });
  return shares;
}

void add_worst(const FitInput& input, const std::vector<double>& parameters, std::size_t count, JudgedRow& row) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < row.samples.size(); ++i) {
    if (!row.samples[i].slow_series) order.push_back(i);
  }
  const auto off = [&](std::size_t i) {
    return std::abs(std::log(row.samples[i].predicted_us / row.samples[i].measured_us));
  };
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::size_t a, std::size_t b) { return off(a) != off(b) ? off(a) > off(b) : a < b; });
  for (std::size_t i = 0; i < count; ++i) row.worst.push_back({order[i], shares_of(input, parameters, order[i])});
}

JudgedRow judge(const FitInput& input, const std::string& backend, const HardwareProfile& hardware, std::size_t worst) {
  JudgedRow row{.key = input.key, .fit = {}, .samples = {}, .worst = {}, .dropped = input.dropped};
  const Answer answer = answer_of(input, backend, hardware);
  row.has_row = !answer.key.empty();
  if (answer.key.starts_with(input.key)) row.key = answer.key;   // else a name of its own for what another row prices
  row.fit = answer.fit;
  row.same_table = answer.fit.on.starts_with("fitted on " + input.on + ";");
  for (std::size_t i = 0; i < input.microseconds.size(); ++i) {
    JudgedSample sample{.cell = input.cell[i], .measured_us = input.microseconds[i], .spread = answer.spread};
    if (row.has_row) sample.predicted_us = input.predict(i, answer.parameters.data());
    if (answer.model != nullptr) sample.spread = spread_at(*answer.model, input.regime[i]);
    row.samples.push_back(sample);
  }
  if (!row.has_row) return row;
  if (!input.series.empty()) mark_slow_series(input, row.samples);
  add_worst(input, answer.parameters, worst, row);
  return row;
}

}  // namespace

std::vector<JudgedRow> judge_table(const MeasuredTable& table, const HardwareProfile& hardware, std::size_t worst) {
  std::vector<JudgedRow> out;
  for (const auto& inputs : {table_inputs(table, hardware), judged_inputs(table, hardware)}) {
    for (const FitInput& input : inputs) out.push_back(judge(input, table.backend, hardware, worst));
  }
  return out;
}

}  // namespace shardplan
