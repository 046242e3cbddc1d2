// Processed traces of lengths: num_prefill_tokens,num_decode_tokens, with arrived_at in seconds or without arrivals.
#include <cmath>

#include "sim/workloads/csv_rows.h"
#include "sim/workloads/trace.h"

namespace shardplan {
namespace {

constexpr double kTicksPerSecond = 1e7;
constexpr double kMaxArrivalSeconds = 1e10;

class LengthsTrace : public TraceReader {
 public:
  explicit LengthsTrace(const std::string& path)
      : rows_(path), arrival_(rows_.column_if("arrived_at")), prompt_(rows_.column("num_prefill_tokens")), output_(rows_.column("num_decode_tokens")) {}

  bool has_arrivals() const override { return arrival_ >= 0; }

  bool next(RequestSpec& out) override {
    if (!rows_.next()) return false;
    out.id = row_++;
    out.prompt_tokens = rows_.integer(prompt_, 1, kMaxRequestTokens);
    out.output_tokens = rows_.integer(output_, 1, kMaxRequestTokens);
    out.arrival = SimTime(0);
    if (arrival_ >= 0) {
      const double seconds = rows_.number(static_cast<std::size_t>(arrival_), 0, kMaxArrivalSeconds);
      out.arrival = clock_.arrival(std::llround(seconds * kTicksPerSecond), rows_.reader(), rows_.text(static_cast<std::size_t>(arrival_)));
    }
    return true;
  }

 private:
  CsvRows rows_;
  std::int64_t arrival_;
  std::size_t prompt_, output_;
  ArrivalClock clock_;
  std::int64_t row_ = 0;
};

}  // namespace

std::unique_ptr<TraceReader> open_lengths_trace(const std::string& path) { return std::make_unique<LengthsTrace>(path); }

}  // namespace shardplan
