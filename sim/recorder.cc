#include "sim/recorder.h"

#include <algorithm>

namespace shardplan {
namespace {

constexpr SimTime kFirstInterval{1'000'000'000'000};   // 1 s between samples, to begin with
constexpr std::size_t kFewestPoints = 16;

double rate(double amount, Seconds over) { return over.value() > 0 ? amount / over.value() : 0; }

}  // namespace

Recorder::Recorder(const ServiceTargets& targets, RecordSink* records, std::size_t series_points)
    : targets_(targets), records_(records), series_(kFirstInterval, std::max(kFewestPoints, series_points)) {}

void Recorder::change_present(std::int64_t by, SimTime now) {
  area_ += static_cast<double>(present_) * static_cast<double>((now - since_).value());
  since_ = now;
  present_ += by;
}

void Recorder::arrived(SimTime now) {
  if (counts_.arrived++ == 0) first_arrival_ = last_end_ = since_ = now;
  change_present(1, now);
}

void Recorder::rejected(bool too_large, SimTime now) {
  ++counts_.rejected;
  if (too_large) ++counts_.rejected_too_large;
  change_present(-1, now);
}

void Recorder::failed(SimTime now) {
  ++counts_.failed;
  last_end_ = now;
  change_present(-1, now);
}

void Recorder::first_token(const Request& request) { ttft_.add(request.first_token - request.spec.arrival); }

bool Recorder::good(const RequestRecord& record) const {
  return (!targets_.ttft || to_seconds(record.ttft()) <= *targets_.ttft) && (!targets_.tpot || to_seconds(record.tpot()) <= *targets_.tpot) &&
         (!targets_.e2e || to_seconds(record.e2e()) <= *targets_.e2e);
}

void Recorder::ended(const Request& request, SimTime now) {
  const RequestRecord record = record_of(request);
  ++counts_.completed;
  last_end_ = now;
  change_present(-1, now);
  if (record.output_tokens > 1) tpot_.add(record.tpot());
  e2e_.add(record.e2e());
  queue_.add(record.scheduled - record.arrival);
  output_tokens_ += record.output_tokens;
  input_tokens_ += record.prompt_tokens;
  cached_tokens_ += record.cached_tokens;
  if (good(record)) ++good_;
  if (records_ != nullptr) records_->add(record);
}

SimulationResult Recorder::result() const {
  SimulationResult out;
  out.requests = counts_;
  out.ttft = ttft_.summary();
  out.tpot = tpot_.summary();
  out.itl = itl_.summary();
  out.e2e = e2e_.summary();
  out.queue = queue_.summary();
  out.transfer = transfer_.summary();
  out.simulated = to_seconds(last_end_ - first_arrival_);
  out.output_tokens = output_tokens_;
  out.input_tokens = input_tokens_;
  out.cached_tokens = cached_tokens_;
  out.good_requests = good_;
  out.output_tokens_per_second = rate(static_cast<double>(output_tokens_), out.simulated);
  out.input_tokens_per_second = rate(static_cast<double>(input_tokens_), out.simulated);
  out.goodput_requests_per_second = rate(static_cast<double>(good_), out.simulated);
  out.mean_requests = rate(area_ / kPicosecondsPerSecond, out.simulated);
  out.series = series_.points();
  return out;
}

}  // namespace shardplan
