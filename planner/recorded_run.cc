#include "planner/recorded_run.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/quantile.h"
#include "sim/workloads/line_reader.h"
#include "sim/workloads/trace.h"

namespace shardplan {
namespace {

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

struct LogRow {
  double arrival = 0, queued = 0, first = 0, last = 0;
  double tokens = 0;
};

// False where the row says nothing of its answer.
bool read_row(const LineReader& lines, LogRow& out) {
  const Json json = parse_json(lines.line(), lines.where());
  for (const char* key : {"arrival_time", "queued_ts", "first_token_ts", "last_token_ts", "output_toks"}) {
    if (!json.is_object() || !json.contains(key) || !json.at(key).is_number()) return false;
  }
  out = {.arrival = json.at("arrival_time").get<double>(),
         .queued = json.at("queued_ts").get<double>(),
         .first = json.at("first_token_ts").get<double>(),
         .last = json.at("last_token_ts").get<double>(),
         .tokens = json.at("output_toks").get<double>()};
  return true;
}

}  // namespace

bool is_request_log(const std::string& file) {
  LineReader lines(file);
  if (!lines.next()) return false;
  for (const TraceFormat& format : trace_formats()) {
    if (format.recognises(lines.line())) return format.open == open_request_log;
  }
  return false;
}

std::vector<RecordedAnswer> recorded_answers(const std::string& log) {
  LineReader lines(log);
  std::vector<LogRow> rows;
  double offset = INFINITY;
  for (LogRow row; lines.next();) {
    if (!read_row(lines, row)) return {};
    rows.push_back(row);
    offset = std::min(offset, row.queued - row.arrival);
  }
  std::vector<RecordedAnswer> out;
  for (const LogRow& row : rows) {
    out.push_back({.ttft = Seconds(row.first - row.arrival - offset),
                   .tpot = Seconds(row.tokens > 1 ? (row.last - row.first) / (row.tokens - 1) : 0)});
  }
  return out;
}

std::vector<AnswerPair> paired_answers(const std::vector<RecordedAnswer>& measured,
                                       const std::vector<RequestRecord>& records, Seconds server_path) {
  std::vector<AnswerPair> out;
  for (const RequestRecord& r : records) {
    if (r.id < 0 || static_cast<std::size_t>(r.id) >= measured.size()) continue;
    out.push_back({.measured = measured[static_cast<std::size_t>(r.id)],
                   .simulated = {.ttft = to_seconds(r.ttft()) - server_path, .tpot = to_seconds(r.tpot())}});
  }
  return out;
}

AnswerErrors errors_of(const std::vector<AnswerPair>& pairs) {
  std::vector<double> ttft, tpot, measured, simulated;
  for (const AnswerPair& p : pairs) {
    measured.push_back(p.measured.ttft.value());
    simulated.push_back(p.simulated.ttft.value());
    if (measured.back() > 0) ttft.push_back(std::abs(simulated.back() / measured.back() - 1));
    if (p.measured.tpot.value() > 0) tpot.push_back(std::abs(p.simulated.tpot / p.measured.tpot - 1));
  }
  const auto ratio = [&](double part) {
    const double of = quantile(measured, part);
    return of > 0 ? quantile(simulated, part) / of : 0;
  };
  return {.requests = static_cast<std::int64_t>(pairs.size()),
          .ttft_mean_ratio = mean(ttft),
          .ttft_median_ratio = quantile(ttft, 0.5),
          .tpot_mean_ratio = mean(tpot),
          .tpot_median_ratio = quantile(tpot, 0.5),
          .ttft_p50_ratio = ratio(0.5),
          .ttft_p90_ratio = ratio(0.9)};
}

}  // namespace shardplan
