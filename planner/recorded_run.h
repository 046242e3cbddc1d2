// A recorded run of a server beside its simulation: what each request met, and how far the prediction is off.
//
// Logs are those of the trace format "requests" that hold what was measured too: arrival_time on the client's clock;
// queued_ts, first_token_ts, last_token_ts on the engine's. The clocks are matched by the request that was queued
// soonest after it arrived, so that the least server path is not in a measured TTFT; a simulated one has it taken off.
#pragma once

#include <string>
#include <vector>

#include "base/quantity.h"
#include "sim/metrics/request_record.h"

namespace shardplan {

struct RecordedAnswer {
  Seconds ttft;
  Seconds tpot;  // 0 s: it had one token
};

// Whether the first line is of the format "requests".
[[nodiscard]] bool is_request_log(const std::string& file);
// By the request's number in the log; empty where the log does not say what was measured. InputError on a bad row.
[[nodiscard]] std::vector<RecordedAnswer> recorded_answers(const std::string& log);

class GatheredRecords : public RecordSink {
 public:
  void add(const RequestRecord& record) override { all.push_back(record); }
  std::vector<RequestRecord> all;
};

// One request, measured and simulated.
struct AnswerPair {
  RecordedAnswer measured;
  RecordedAnswer simulated;
};
// In the order of `records`; those that the log does not hold are left out. `server_path`: what each request passes
// before the engine sees it.
[[nodiscard]] std::vector<AnswerPair> paired_answers(const std::vector<RecordedAnswer>& measured,
                                                     const std::vector<RequestRecord>& records, Seconds server_path);

// |simulated/measured - 1|.
struct AnswerErrors {
  std::int64_t requests = 0;
  double ttft_mean_ratio = 0;
  double ttft_median_ratio = 0;
  double tpot_mean_ratio = 0;  // over requests of two tokens and more
  double tpot_median_ratio = 0;
  double ttft_p50_ratio = 0;  // of the two distributions, simulated over measured
  double ttft_p90_ratio = 0;
};
[[nodiscard]] AnswerErrors errors_of(const std::vector<AnswerPair>& pairs);

}  // namespace shardplan
