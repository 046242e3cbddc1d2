// Robust bounded least squares on relative errors: Levenberg-Marquardt on log(predicted/measured), reweighted towards the
// least absolute error, parameters kept inside their bounds, from several starts. Deterministic.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "hwprofiles/kernel_model.h"

namespace shardplan {

struct LeastSquares {
  const std::vector<ParameterSpec>* parameters = nullptr;
  std::vector<bool> held;                     // parameters that keep their start; empty: none
  std::vector<double> start;                  // empty: the specs' starts
  // log(predicted/measured) of every sample.
  std::function<void(const double* parameters, std::vector<double>& residuals)> residuals;
  std::size_t samples = 0;
  int starts = 3;
  int iterations = 40;
};

struct LeastSquaresResult {
  std::vector<double> parameters;
  double cost = 0;                            // mean softened absolute residual
};

[[nodiscard]] LeastSquaresResult solve(const LeastSquares& problem);

}  // namespace shardplan
