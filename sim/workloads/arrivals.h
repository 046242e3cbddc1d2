// When requests of an open loop arrive.
//
// Poisson: exponential gaps. Gamma bursts: gaps of shape 1/cv^2, cv > 1 is burstier than Poisson. Ramp: a Poisson
// process whose rate goes linearly from one value to another and stays there; exact by inverting the expected count.
// Even: equal gaps. All start with the first gap, not with a request at 0.
#pragma once

#include <memory>

#include "base/quantity.h"
#include "sim/random.h"
#include "sim/sim_time.h"

namespace shardplan {

using RequestsPerSecond = Quantity<struct RequestsPerSecondTag, double>;

class ArrivalProcess {
 public:
  virtual ~ArrivalProcess() = default;
  // The next arrival, never before the last. InputError beyond the range of simulated time.
  [[nodiscard]] virtual SimTime next(Random& random) = 0;
};

// InputError unless rates are positive (a ramp may start at 0) and cv_ratio > 0.
[[nodiscard]] std::unique_ptr<ArrivalProcess> even_arrivals(RequestsPerSecond rate);
[[nodiscard]] std::unique_ptr<ArrivalProcess> poisson_arrivals(RequestsPerSecond rate);
[[nodiscard]] std::unique_ptr<ArrivalProcess> gamma_arrivals(RequestsPerSecond rate, double cv_ratio);
[[nodiscard]] std::unique_ptr<ArrivalProcess> ramp_arrivals(RequestsPerSecond from, RequestsPerSecond to, Seconds over);

}  // namespace shardplan
