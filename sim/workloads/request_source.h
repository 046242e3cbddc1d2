// Where requests come from: a stream that may wait for answers.
//
// Sources hold what is needed for the next request and no more, so that memory does not grow with a run's length.
#pragma once

#include <optional>

#include "sim/workloads/request_spec.h"

namespace shardplan {

class RequestSource {
 public:
  virtual ~RequestSource() = default;
  // When the next request arrives; nothing while that depends on requests under way, or at the end.
  // Never before an earlier one that was taken.
  [[nodiscard]] virtual std::optional<SimTime> next_arrival() = 0;
  // Moves on to the next request, reusing the memory of `out`. Precondition: next_arrival() has a value.
  virtual void take(RequestSpec& out) = 0;
  // `request` was answered or rejected at `now`: a closed loop or a session goes on.
  virtual void ended(const RequestSpec& request, SimTime now);
};

inline void RequestSource::ended(const RequestSpec&, SimTime) {}

}  // namespace shardplan
