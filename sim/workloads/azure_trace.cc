// Azure LLM inference traces (2023): TIMESTAMP,ContextTokens,GeneratedTokens with wall times of 100 ns.
#include <chrono>

#include "base/errors.h"
#include "sim/workloads/csv_rows.h"
#include "sim/workloads/trace.h"

namespace shardplan {
namespace {

constexpr std::int64_t kTicksPerSecond = 10'000'000;   // of 100 ns

// Digits [at, at+length) of `text` as a number, -1 when they are not all digits.
std::int64_t digits(std::string_view text, std::size_t at, std::size_t length) {
  if (text.size() < at + length) return -1;
  std::int64_t value = 0;
  for (const char c : text.substr(at, length)) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

// Ticks of the part after the dot (digits beyond 100 ns are dropped), -1 when it is no fraction.
std::int64_t fraction_ticks(std::string_view fraction) {
  std::int64_t ticks = 0;
  std::int64_t unit = kTicksPerSecond;
  if (!fraction.empty() && fraction.front() != '.') return -1;
  for (std::size_t i = 1; i < fraction.size(); ++i) {
    const std::int64_t digit = digits(fraction, i, 1);
    if (digit < 0) return -1;
    unit /= 10;
    ticks += digit * unit;
  }
  return ticks;
}

// "2023-11-16 18:17:03.9799600" as ticks since 1970, -1 when it is no such time.
std::int64_t ticks_of(std::string_view text) {
  const std::int64_t year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2);
  const std::int64_t hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (year < 1970 || month < 1 || day < 1 || hour < 0 || minute < 0 || second < 0) return -1;
  const bool shaped = text[4] == '-' && text[7] == '-' && (text[10] == ' ' || text[10] == 'T') && text[13] == ':' && text[16] == ':';
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!shaped || !date.ok() || hour > 23 || minute > 59 || second > 60) return -1;
  const std::int64_t fraction = fraction_ticks(text.substr(19));
  if (fraction < 0) return -1;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (((days * 24 + hour) * 60 + minute) * 60 + second) * kTicksPerSecond + fraction;
}

class AzureTrace : public TraceReader {
 public:
  explicit AzureTrace(const std::string& path)
      : rows_(path), time_(rows_.column("TIMESTAMP")), prompt_(rows_.column("ContextTokens")), output_(rows_.column("GeneratedTokens")) {}

  bool next(RequestSpec& out) override {
    if (!rows_.next()) return false;
    const std::int64_t ticks = ticks_of(rows_.text(time_));
    if (ticks < 0) {
      throw InputError(rows_.reader().where(rows_.text(time_)), "TIMESTAMP is '" + std::string(rows_.text(time_)) + "'",
                       "a time as 2023-11-16 18:17:03.9799600");
    }
    out.id = row_++;
    out.prompt_tokens = rows_.integer(prompt_, 1, kMaxRequestTokens);
    out.output_tokens = rows_.integer(output_, 1, kMaxRequestTokens);
    out.arrival = clock_.arrival(ticks, rows_.reader(), rows_.text(time_));
    return true;
  }

 private:
  CsvRows rows_;
  std::size_t time_, prompt_, output_;
  ArrivalClock clock_;
  std::int64_t row_ = 0;
};

}  // namespace

std::unique_ptr<TraceReader> open_azure_trace(const std::string& path) { return std::make_unique<AzureTrace>(path); }

}  // namespace shardplan
