// What became of one request, for a stream of records and for the averages.
#pragma once

#include <iosfwd>

#include "sim/request_table.h"

namespace shardplan {

struct RequestRecord {
  std::int64_t id = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int32_t replica = 0;
  std::int32_t preemptions = 0;
  SimTime arrival;
  SimTime scheduled;                   // its first chunk's step was planned
  SimTime first_token;
  SimTime last_token;
  [[nodiscard]] SimTime ttft() const { return first_token - arrival; }
  [[nodiscard]] SimTime e2e() const { return last_token - arrival; }
  // Mean time between its tokens; 0 with one token.
  [[nodiscard]] SimTime tpot() const { return output_tokens > 1 ? (last_token - first_token) / (output_tokens - 1) : SimTime(0); }
};

[[nodiscard]] RequestRecord record_of(const Request& request);

class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void add(const RequestRecord& record) = 0;   // in the order in which requests end
};

// Records as comma-separated values with a header; times in seconds since the start.
class CsvRecords : public RecordSink {
 public:
  explicit CsvRecords(std::ostream& out);
  void add(const RequestRecord& record) override;

 private:
  std::ostream& out_;
};

}  // namespace shardplan
