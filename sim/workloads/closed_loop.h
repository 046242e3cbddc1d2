// A closed loop: so many users, each sends its next request when its last is answered.
//
// All start at 0 (a burst that serving benchmarks keep in their averages); a request that is rejected counts as answered.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/workloads/lengths.h"
#include "sim/workloads/request_source.h"

namespace shardplan {

class ClosedLoop : public RequestSource {
 public:
  // `requests` in all, at most `concurrency` at once. InputError unless both are positive.
  ClosedLoop(std::int64_t concurrency, std::int64_t requests, std::unique_ptr<LengthModel> lengths, std::uint64_t seed);
  std::optional<SimTime> next_arrival() override;
  void take(RequestSpec& out) override;
  void ended(const RequestSpec& request, SimTime now) override;

 private:
  std::unique_ptr<LengthModel> lengths_;
  std::int64_t requests_;
  std::int64_t taken_ = 0;
  std::int64_t ready_;      // users who may send now
  SimTime now_;
  Random random_;
};

}  // namespace shardplan
