#include "sim/workloads/arrivals.h"

#include <cmath>

#include "base/errors.h"

namespace shardplan {
namespace {

void require_rate(double rate, bool zero) {
  if (!(rate > 0 || (zero && rate == 0)) || rate > 1e9) throw InputError("arrival rate", "is out of range", "requests/s above 0 and at most 1e9");
}

// Gaps of mean 1/rate drawn by `Draw`, summed in whole picoseconds.
template <class Draw>
class RenewalArrivals : public ArrivalProcess {
 public:
  RenewalArrivals(double rate, Draw draw) : rate_(rate), draw_(draw) {}
  SimTime next(Random& random) override {
    time_ += sim_time(Seconds(draw_(random) / rate_));
    if (time_ > kMaxSimTime) throw InputError("arrivals", "go beyond 46 days", "fewer requests or a higher rate");
    return time_;
  }

 private:
  double rate_;
  Draw draw_;
  SimTime time_;
};

template <class Draw>
std::unique_ptr<ArrivalProcess> renewal(RequestsPerSecond rate, Draw draw) {
  require_rate(rate.value(), false);
  return std::make_unique<RenewalArrivals<Draw>>(rate.value(), draw);
}

// Expected count until t: from*t + (to-from)*t^2/(2*over) up to `over`, then linear. The k-th arrival is where it
// reaches the sum of k unit exponentials.
class RampArrivals : public ArrivalProcess {
 public:
  RampArrivals(double from, double to, double over) : from_(from), to_(to), over_(over) {}
  SimTime next(Random& random) override {
    count_ += random.exponential_ratio();
    return sim_time(Seconds(time_of(count_)));
  }

 private:
  [[nodiscard]] double time_of(double count) const {
    const double in_ramp = (from_ + to_) / 2 * over_;
    if (count >= in_ramp) return over_ + (count - in_ramp) / to_;
    const double a = (to_ - from_) / (2 * over_);
    return 2 * count / (from_ + std::sqrt(from_ * from_ + 4 * a * count));
  }

  double from_, to_, over_;
  double count_ = 0;
};

}  // namespace

std::unique_ptr<ArrivalProcess> even_arrivals(RequestsPerSecond rate) {
  return renewal(rate, [](Random&) { return 1.0; });
}

std::unique_ptr<ArrivalProcess> poisson_arrivals(RequestsPerSecond rate) {
  return renewal(rate, [](Random& random) { return random.exponential_ratio(); });
}

std::unique_ptr<ArrivalProcess> gamma_arrivals(RequestsPerSecond rate, double cv_ratio) {
  if (!(cv_ratio > 0) || cv_ratio > 100) throw InputError("arrival burstiness", "is out of range", "a coefficient of variation above 0, at most 100");
  const double shape = 1 / (cv_ratio * cv_ratio);
  return renewal(rate, [shape](Random& random) { return random.gamma_ratio(shape) / shape; });
}

std::unique_ptr<ArrivalProcess> ramp_arrivals(RequestsPerSecond from, RequestsPerSecond to, Seconds over) {
  require_rate(from.value(), true);
  require_rate(to.value(), false);
  if (!(over.value() > 0)) throw InputError("arrival ramp", "has no length", "seconds above 0");
  return std::make_unique<RampArrivals>(from.value(), to.value(), over.value());
}

}  // namespace shardplan
