// Recorded requests: one file per format behind one interface, and the table of formats.
//
// A reader gives requests in the order of the file with arrivals counted from the first one. An arrival earlier than
// the row before is an InputError (sort the file: a stream cannot look ahead); equal requests are different requests.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workloads/line_reader.h"
#include "sim/workloads/request_spec.h"

namespace shardplan {

class TraceReader {
 public:
  virtual ~TraceReader() = default;
  // The next request; false at the end. InputError naming file, line and column on a bad row.
  [[nodiscard]] virtual bool next(RequestSpec& out) = 0;
  // False for traces of lengths only: every arrival is then 0.
  [[nodiscard]] virtual bool has_arrivals() const { return true; }
};

struct TraceFormat {
  const char* name;
  const char* help;
  bool (*recognises)(std::string_view first_line);
  std::unique_ptr<TraceReader> (*open)(const std::string& path);
};

[[nodiscard]] const std::vector<TraceFormat>& trace_formats();
// By the first line; InputError when it is none of the formats.
[[nodiscard]] std::unique_ptr<TraceReader> open_trace(const std::string& path);

// The readers of the table.
[[nodiscard]] std::unique_ptr<TraceReader> open_azure_trace(const std::string& path);
[[nodiscard]] std::unique_ptr<TraceReader> open_lengths_trace(const std::string& path);
[[nodiscard]] std::unique_ptr<TraceReader> open_mooncake_trace(const std::string& path);
[[nodiscard]] std::unique_ptr<TraceReader> open_request_log(const std::string& path);

// Where a row of JSON lines has a key; the whole row where it does not.
[[nodiscard]] std::string_view place_of_key(std::string_view line, std::string_view key);

// Arrivals counted from the first one, never going back.
class ArrivalClock {
 public:
  // `ticks` is the row's own time in units of 100 ns, written as `part` of the reader's line. InputError naming line and
  // column when it goes back or beyond the range.
  [[nodiscard]] SimTime arrival(std::int64_t ticks, const LineReader& reader, std::string_view part);

 private:
  bool started_ = false;
  std::int64_t first_ = 0;
  SimTime last_;
};

}  // namespace shardplan
