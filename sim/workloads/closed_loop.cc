#include "sim/workloads/closed_loop.h"

#include <utility>

#include "base/errors.h"

namespace shardplan {

ClosedLoop::ClosedLoop(std::int64_t concurrency, std::int64_t requests, std::unique_ptr<LengthModel> lengths, std::uint64_t seed)
    : lengths_(std::move(lengths)), requests_(requests), ready_(concurrency), random_(seed, "lengths") {
  if (concurrency < 1) throw InputError("concurrency", "is not positive", "at least 1");
  if (requests < 1) throw InputError("request count", "is not positive", "at least 1");
}

std::optional<SimTime> ClosedLoop::next_arrival() {
  if (ready_ == 0 || taken_ == requests_) return std::nullopt;
  return now_;
}

void ClosedLoop::take(RequestSpec& out) {
  const RequestLengths lengths = lengths_->next(random_);
  --ready_;
  out.id = taken_++;
  out.arrival = now_;
  out.prompt_tokens = lengths.prompt_tokens;
  out.output_tokens = lengths.output_tokens;
  out.session = 0;
  out.hashes.clear();
}

void ClosedLoop::ended(const RequestSpec&, SimTime now) {
  ++ready_;
  now_ = now;
}

}  // namespace shardplan
