// Logs of a server's requests: {"arrival_time": s, "input_toks", "output_toks", ...} per line; measured times are left.
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "sim/workloads/trace.h"

namespace shardplan {
namespace {

constexpr double kTicksPerSecond = 1e7;
constexpr double kMaxSeconds = 1e11;

class RequestLog : public TraceReader {
 public:
  explicit RequestLog(const std::string& path) : lines_(path) {}

  bool next(RequestSpec& out) override {
    if (!lines_.next()) return false;
    const Json json = parse_json(lines_.line(), lines_.where());
    JsonObject row(json, lines_.where());
    out.id = row_++;
    out.prompt_tokens = row.integer("input_toks", 1, kMaxRequestTokens);
    out.output_tokens = row.integer("output_toks", 1, kMaxRequestTokens);
    out.arrival = clock_.arrival(std::llround(row.number("arrival_time", 0, kMaxSeconds) * kTicksPerSecond), lines_,
                                  place_of_key(lines_.line(), "arrival_time"));
    return true;
  }

 private:
  LineReader lines_;
  ArrivalClock clock_;
  std::int64_t row_ = 0;
};

}  // namespace

std::unique_ptr<TraceReader> open_request_log(const std::string& path) { return std::make_unique<RequestLog>(path); }

}  // namespace shardplan
