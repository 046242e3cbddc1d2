#include "sim/workloads/trace.h"

#include "base/errors.h"

namespace shardplan {
namespace {

bool starts(std::string_view line, std::string_view with) { return line.substr(0, with.size()) == with; }
bool contains(std::string_view line, std::string_view part) { return line.find(part) != std::string_view::npos; }

constexpr std::int64_t kPicosecondsPerTick = 100'000;

}  // namespace

const std::vector<TraceFormat>& trace_formats() {
  static const std::vector<TraceFormat> kFormats = {
      {"azure", "TIMESTAMP,ContextTokens,GeneratedTokens", [](std::string_view line) { return starts(line, "TIMESTAMP,"); }, open_azure_trace},
      {"lengths", "num_prefill_tokens,num_decode_tokens, with or without arrived_at",
       [](std::string_view line) { return contains(line, "num_prefill_tokens") && !starts(line, "{"); }, open_lengths_trace},
      {"mooncake", "JSON lines with timestamp, input_length, output_length, hash_ids of 512 tokens",
       [](std::string_view line) { return starts(line, "{") && contains(line, "\"input_length\""); }, open_mooncake_trace},
      {"requests", "JSON lines with arrival_time, input_toks, output_toks",
       [](std::string_view line) { return starts(line, "{") && contains(line, "\"input_toks\""); }, open_request_log},
  };
  return kFormats;
}

std::unique_ptr<TraceReader> open_trace(const std::string& path) {
  LineReader first(path);
  if (!first.next()) throw InputError(path, "is empty", "a trace");
  std::string known;
  for (const TraceFormat& format : trace_formats()) {
    if (format.recognises(first.line())) return format.open(path);
    known += (known.empty() ? "" : "; ") + std::string(format.help);
  }
  throw InputError(first.where(), "the first line is no trace's that is known", "one of: " + known);
}

std::string_view place_of_key(std::string_view line, std::string_view key) {
  const std::size_t at = line.find('"' + std::string(key) + '"');
  return at == std::string_view::npos ? line : line.substr(at);
}

SimTime ArrivalClock::arrival(std::int64_t ticks, const LineReader& reader, std::string_view part) {
  if (!started_) first_ = ticks;
  started_ = true;
  const std::int64_t since = ticks - first_;
  if (since > kMaxSimTime.value() / kPicosecondsPerTick) {
    throw InputError(reader.where(part), "arrives later than can be simulated", "a trace of at most 46 days");
  }
  const bool back = since < 0 || SimTime(since * kPicosecondsPerTick) < last_;
  if (back) throw InputError(reader.where(part), "arrives before the row above it", "rows in the order of arrival");
  const SimTime time(since * kPicosecondsPerTick);
  last_ = time;
  return time;
}

}  // namespace shardplan
