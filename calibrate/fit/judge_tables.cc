#include "calibrate/fit/judge_tables.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/errors.h"
#include "calibrate/fit/collective_rows.h"
#include "calibrate/fit/kernel_samples.h"

namespace shardplan {
namespace {

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
constexpr RowParameters kNeverChosen{1e6, 0, 1, 1, 0.5};

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
    const RowParameters parameters = row_parameters(row);
    answer.parameters.insert(answer.parameters.end(), parameters.begin(), parameters.end());
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
  std::vector<std::size_t> all(samples.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const auto slow = slow_series(input, all, [&](std::size_t i) { return samples[i].predicted_us; });
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].slow_series = slow.contains(input.series[i]);
}

std::string parameter_name(const FitInput& input, std::size_t i) {
  const std::string name(parameters_of(input)[i].name);
  return input.collectives.empty() ? name : input.collectives[i / RowParameters().size()] + " " + name;
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
