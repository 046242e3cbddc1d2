#include "calibrate/fit/least_squares.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "base/errors.h"

namespace shardplan {
namespace {

constexpr double kSoft = 0.02;      // residuals below it count squared, above it by their size
constexpr double kLargest = 1.0;    // residuals beyond it count no more: a factor of e is another kernel
constexpr double kStep = 1e-3;      // of the finite differences, in the unbounded variable

double softened(double residual) {
  const double r = std::min(std::abs(residual), kLargest);
  return std::sqrt(r * r + kSoft * kSoft) - kSoft;
}

// A small generator: the same starts on every machine.
struct Dice {
  std::uint64_t state = 0x9e3779b97f4a7c15ULL;
  double next() {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state >> 11) / 9007199254740992.0;
  }
};

// Parameters as unbounded variables: a logistic between the bounds, in the logarithm.
class Bounded {
 public:
  explicit Bounded(const std::vector<ParameterSpec>& specs) : specs_(specs) {}
  [[nodiscard]] double to_free(std::size_t i, double value) const {
    const double low = std::log(specs_[i].low);
    const double high = std::log(specs_[i].high);
    const double share = std::clamp((std::log(value) - low) / (high - low), 0.004, 0.996);
    return std::log(share / (1 - share));
  }
  [[nodiscard]] double to_value(std::size_t i, double free) const {
    const double low = std::log(specs_[i].low);
    const double high = std::log(specs_[i].high);
    return std::exp(low + (high - low) / (1 + std::exp(-free)));
  }

 private:
  const std::vector<ParameterSpec>& specs_;
};

class Solver {
 public:
  explicit Solver(const LeastSquares& problem) : problem_(problem), bounded_(*problem.parameters) {
    const std::size_t count = problem.parameters->size();
    fixed_ = problem.start;
    if (fixed_.empty()) {
      for (const ParameterSpec& spec : *problem.parameters) fixed_.push_back(spec.start);
    }
    ensure(fixed_.size() == count, "one start per parameter");
    for (std::size_t i = 0; i < count; ++i) {
      if (problem.held.empty() || !problem.held[i]) moving_.push_back(i);
    }
  }

  LeastSquaresResult run() {
    LeastSquaresResult best{fixed_, 1e300};
    Dice dice;
    for (int start = 0; start < problem_.starts; ++start) {
      Eigen::VectorXd x(static_cast<Eigen::Index>(moving_.size()));
      for (std::size_t j = 0; j < moving_.size(); ++j) {
        const double jump = start == 0 ? 0 : 2.0 * (dice.next() - 0.5);
        x[static_cast<Eigen::Index>(j)] = bounded_.to_free(moving_[j], fixed_[moving_[j]]) + jump;
      }
      const double cost = descend(x);
      if (cost < best.cost) best = {values(x), cost};
    }
    return best;
  }

 private:
  [[nodiscard]] std::vector<double> values(const Eigen::VectorXd& x) const {
    std::vector<double> out = fixed_;
    for (std::size_t j = 0; j < moving_.size(); ++j) out[moving_[j]] = bounded_.to_value(moving_[j], x[static_cast<Eigen::Index>(j)]);
    return out;
  }

  double cost_of(const Eigen::VectorXd& x, std::vector<double>& residuals) const {
    problem_.residuals(values(x).data(), residuals);
    double total = 0;
    for (const double r : residuals) total += softened(r);
    return total / static_cast<double>(std::max<std::size_t>(1, residuals.size()));
  }

  // Normal equations of the reweighted problem at x.
  void normal(const Eigen::VectorXd& x, const std::vector<double>& residuals, Eigen::MatrixXd& a, Eigen::VectorXd& b) const {
    const auto n = static_cast<Eigen::Index>(moving_.size());
    const auto m = static_cast<Eigen::Index>(residuals.size());
    Eigen::MatrixXd jacobian(m, n);
    std::vector<double> moved(residuals.size());
    for (Eigen::Index j = 0; j < n; ++j) {
      Eigen::VectorXd y = x;
      y[j] += kStep;
      problem_.residuals(values(y).data(), moved);
      for (Eigen::Index i = 0; i < m; ++i) jacobian(i, j) = (moved[static_cast<std::size_t>(i)] - residuals[static_cast<std::size_t>(i)]) / kStep;
    }
    Eigen::VectorXd weights(m);
    Eigen::VectorXd r(m);
    for (Eigen::Index i = 0; i < m; ++i) {
      const double value = residuals[static_cast<std::size_t>(i)];
      r[i] = value;
      weights[i] = std::abs(value) > kLargest ? 0 : 1 / std::sqrt(value * value + kSoft * kSoft);
    }
    a = jacobian.transpose() * weights.asDiagonal() * jacobian;
    b = -(jacobian.transpose() * weights.cwiseProduct(r));
  }

  double descend(Eigen::VectorXd& x) const {
    std::vector<double> residuals(problem_.samples);
    std::vector<double> tried(problem_.samples);
    double cost = cost_of(x, residuals);
    double damping = 1e-2;
    for (int iteration = 0; iteration < problem_.iterations && damping < 1e8; ++iteration) {
      Eigen::MatrixXd a;
      Eigen::VectorXd b;
      normal(x, residuals, a, b);
      const double before = cost;
      bool better = false;
      for (int attempt = 0; attempt < 8 && !better; ++attempt) {
        Eigen::MatrixXd damped = a;
        damped.diagonal() += damping * (a.diagonal().array() + 1e-6 * a.diagonal().maxCoeff()).matrix();
        Eigen::VectorXd step = damped.ldlt().solve(b);
        for (Eigen::Index j = 0; j < step.size(); ++j) step[j] = std::clamp(step[j], -1.5, 1.5);
        Eigen::VectorXd candidate = (x + step).cwiseMax(-6.0).cwiseMin(6.0);
        const double next = cost_of(candidate, tried);
        if (next < cost) {
          x = candidate;
          cost = next;
          residuals.swap(tried);
          damping = std::max(damping / 5, 1e-7);
          better = true;
        } else {
          damping *= 4;
        }
      }
      if (!better || before - cost < 1e-5 * before) break;
    }
    return cost;
  }

  const LeastSquares& problem_;
  Bounded bounded_;
  std::vector<double> fixed_;
  std::vector<std::size_t> moving_;
};

}  // namespace

LeastSquaresResult solve(const LeastSquares& problem) { return Solver(problem).run(); }

}  // namespace shardplan
