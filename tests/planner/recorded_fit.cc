#include "tests/planner/recorded_fit.h"

#include <Eigen/Dense>
#include <cmath>

#include "planner/deployment.h"
#include "planner/simulate.h"

namespace shardplan {
namespace {

constexpr int kFactors = 4;
using Logs = Eigen::Matrix<double, kFactors, 1>;

constexpr double kStep = 0.02;  // of a logarithm, for derivatives: a simulated mean is no smoother
constexpr double kLeastStep = 0.01;
constexpr double kMostStep = 0.4;  // of one iteration
constexpr int kIterations = 10;
constexpr double kTpotDeviation = 0.03;
constexpr double kTtftDeviation = 0.2;
constexpr double kRunWeight = 12;  // requests of one run share the errors of its kernels

Logs prior_spread() { return {0.1, 0.2, 2.0, 3.0}; }

MachineFactors factors_of(const Logs& logs) {
  return {.bandwidth_ratio = std::exp(logs[0]),
          .arithmetic_ratio = std::exp(logs[1]),
          .link_rate_ratio = std::exp(logs[2]),
          .link_latency_ratio = std::exp(logs[3])};
}

// Residuals in deviations: of TPOT, then of TTFT; 0 where nothing was measured.
Eigen::VectorXd residuals_of(const RecordedRun& run, const Logs& logs) {
  const std::vector<AnswerPair> pairs = replay(run, factors_of(logs));
  const auto n = static_cast<Eigen::Index>(run.answers.size());
  Eigen::VectorXd out = Eigen::VectorXd::Zero(2 * n);
  Eigen::Index row = 0;
  for (const AnswerPair& p : pairs) {
    if (p.measured.tpot.value() > 0) out[row] = std::log(p.simulated.tpot / p.measured.tpot) / kTpotDeviation;
    if (p.measured.ttft.value() > 0 && p.simulated.ttft.value() > 0)
      out[n + row] = std::log(p.simulated.ttft / p.measured.ttft) / kTtftDeviation;
    ++row;
  }
  return out;
}

// Pseudo-Huber: quadratic up to a deviation, linear beyond.
double cost_of(const RecordedRun& run, const Eigen::VectorXd& residuals, const Logs& logs) {
  const double weight = kRunWeight / static_cast<double>(run.answers.size());
  return weight * 2 * ((1 + residuals.array().square()).sqrt() - 1).sum() +
         (logs.array() / prior_spread().array()).square().sum();
}

}  // namespace

HardwareProfile scaled_machine(HardwareProfile hardware, const MachineFactors& factors) {
  hardware.device.memory_bandwidth = hardware.device.memory_bandwidth * factors.bandwidth_ratio;
  for (FlopsPerSecond& peak : hardware.device.peak) peak = peak * factors.arithmetic_ratio;
  for (auto& [kind, coefficients] : hardware.collectives) {
    coefficients.efficiency *= factors.link_rate_ratio;
    coefficients.base = coefficients.base * factors.link_latency_ratio;
    coefficients.per_rank = coefficients.per_rank * factors.link_latency_ratio;
  }
  return hardware;
}

std::vector<AnswerPair> replay(const RecordedRun& run, const MachineFactors& factors) {
  PlanRequest request = run.request;
  request.hardware = scaled_machine(run.request.hardware, factors);
  const SimulatedTraffic traffic{.trace = run.log};
  const RequestLengths longest = longest_request(traffic, {});
  request.workload.isl = longest.prompt_tokens;
  request.workload.osl = longest.output_tokens;
  GatheredRecords records;
  SimulationSettings settings;
  settings.records = &records;
  (void)simulate_config(request, run.config, traffic, settings);
  return paired_answers(run.answers, records.all, times_of(request).host.first_token);
}

MachineFactors fit_machine(const RecordedRun& run) {
  Logs logs = Logs::Zero();
  Eigen::VectorXd residuals = residuals_of(run, logs);
  double cost = cost_of(run, residuals, logs);
  const double weight = kRunWeight / static_cast<double>(run.answers.size());
  for (int i = 0; i < kIterations; ++i) {
    Eigen::MatrixXd slope(residuals.size(), kFactors);
    for (int f = 0; f < kFactors; ++f) {
      Logs moved = logs;
      moved[f] += kStep;
      slope.col(f) = (residuals_of(run, moved) - residuals) / kStep;
    }
    const Eigen::VectorXd robust = weight / (1 + residuals.array().square()).sqrt();
    const Eigen::Matrix<double, kFactors, kFactors> prior =
        prior_spread().array().square().inverse().matrix().asDiagonal();
    const Eigen::Matrix<double, kFactors, kFactors> normal = slope.transpose() * robust.asDiagonal() * slope + prior;
    Logs step = -normal.ldlt().solve(slope.transpose() * (robust.array() * residuals.array()).matrix() + prior * logs);
    const double longest = step.cwiseAbs().maxCoeff();
    if (longest > kMostStep) step *= kMostStep / longest;
    bool better = false;
    for (; !better && step.cwiseAbs().maxCoeff() > kLeastStep; step /= 2) {
      const Eigen::VectorXd there = residuals_of(run, logs + step);
      const double then = cost_of(run, there, logs + step);
      if (then >= cost) continue;
      better = true;
      logs += step;
      residuals = there;
      cost = then;
    }
    if (!better) break;
  }
  return factors_of(logs);
}

}  // namespace shardplan
