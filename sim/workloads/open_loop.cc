#include "sim/workloads/open_loop.h"

#include <cmath>
#include <utility>

#include "base/errors.h"

namespace shardplan {

TraceSource::TraceSource(std::unique_ptr<TraceReader> trace, double speed_ratio, std::int64_t most)
    : trace_(std::move(trace)), speed_ratio_(speed_ratio), left_(most) {
  if (!(speed_ratio > 0)) throw InputError("trace speed", "is not positive", "2 for twice the recorded rate");
  if (!trace_->has_arrivals()) throw InputError("trace", "holds lengths without arrivals", "a request rate or a concurrency beside it");
  read();
}

void TraceSource::read() {
  has_ = left_-- > 0 && trace_->next(ahead_);
  if (!has_ || speed_ratio_ == 1) return;
  ahead_.arrival = sim_time(Seconds(to_seconds(ahead_.arrival).value() / speed_ratio_));
}

std::optional<SimTime> TraceSource::next_arrival() {
  if (!has_) return std::nullopt;
  return ahead_.arrival;
}

void TraceSource::take(RequestSpec& out) {
  std::swap(out, ahead_);
  read();
}

OpenLoop::OpenLoop(std::unique_ptr<ArrivalProcess> arrivals, std::unique_ptr<LengthModel> lengths, std::int64_t requests, std::uint64_t seed)
    : arrivals_(std::move(arrivals)), lengths_(std::move(lengths)), requests_(requests), arrival_random_(seed, "arrivals"), length_random_(seed, "lengths") {
  if (requests < 1) throw InputError("request count", "is not positive", "at least 1");
  ahead_ = arrivals_->next(arrival_random_);
}

std::optional<SimTime> OpenLoop::next_arrival() {
  if (taken_ == requests_) return std::nullopt;
  return ahead_;
}

void OpenLoop::take(RequestSpec& out) {
  const RequestLengths lengths = lengths_->next(length_random_);
  out.id = taken_++;
  out.arrival = ahead_;
  out.prompt_tokens = lengths.prompt_tokens;
  out.output_tokens = lengths.output_tokens;
  out.session = -1;
  out.hashes.clear();
  if (taken_ < requests_) ahead_ = arrivals_->next(arrival_random_);
}

namespace {

class TraceLengths : public LengthModel {
 public:
  explicit TraceLengths(std::string path) : path_(std::move(path)), trace_(open_trace(path_)) {}
  RequestLengths next(Random&) override {
    if (!trace_->next(row_)) {
      trace_ = open_trace(path_);
      if (!trace_->next(row_)) throw InputError(path_, "has no requests", "at least one");
    }
    return {.prompt_tokens = row_.prompt_tokens, .output_tokens = row_.output_tokens};
  }

 private:
  std::string path_;
  std::unique_ptr<TraceReader> trace_;
  RequestSpec row_;
};

}  // namespace

std::unique_ptr<LengthModel> trace_lengths(const std::string& path) { return std::make_unique<TraceLengths>(path); }

}  // namespace shardplan
