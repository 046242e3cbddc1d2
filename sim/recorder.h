// Collects what a run's result is made of, in memory that does not grow with the run.
#pragma once

#include "sim/simulation.h"

namespace shardplan {

class Recorder {
 public:
  Recorder(const ServiceTargets& targets, RecordSink* records, std::size_t series_points);

  void arrived(SimTime now);
  void rejected(bool too_large, SimTime now);
  void failed(SimTime now);
  void first_token(const Request& request);
  void transferred(SimTime time) { transfer_.add(time); }
  void gaps(SimTime first, SimTime increment, std::int64_t count, std::int64_t weight) { itl_.add_run(first, increment, count, weight); }
  void ended(const Request& request, SimTime now);
  [[nodiscard]] std::int64_t present() const { return present_; }
  [[nodiscard]] std::int64_t completed() const { return counts_.completed; }
  [[nodiscard]] std::int64_t output_tokens() const { return output_tokens_; }
  [[nodiscard]] TimeSeries& series() { return series_; }
  // Everything but what instances and the kernel know.
  [[nodiscard]] SimulationResult result() const;

 private:
  void change_present(std::int64_t by, SimTime now);
  [[nodiscard]] bool good(const RequestRecord& record) const;

  ServiceTargets targets_;
  RecordSink* records_;
  RequestCounts counts_;
  Distribution ttft_, tpot_, itl_, e2e_, queue_, transfer_;
  TimeSeries series_;
  std::int64_t present_ = 0;           // in the deployment
  double area_ = 0;                    // request-picoseconds
  SimTime since_;
  SimTime first_arrival_;
  SimTime last_end_;
  std::int64_t good_ = 0;
  std::int64_t output_tokens_ = 0;
  std::int64_t input_tokens_ = 0;
  std::int64_t cached_tokens_ = 0;
};

}  // namespace shardplan
