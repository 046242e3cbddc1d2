#include "tools/documents/simulate_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tools/documents/page.h"
#include "tools/documents/plot.h"

namespace shardplan {
namespace {

constexpr std::size_t kMostPoints = 400;  // of a curve

// Share of `values` at or below each of them.
Curve distribution_of(const char* name, const char* colour, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  Curve curve{.name = name, .colour = colour};
  const std::size_t stride = std::max<std::size_t>(1, values.size() / kMostPoints);
  for (std::size_t i = 0; i < values.size(); i += stride) {
    curve.points.emplace_back(values[i], static_cast<double>(i + 1) / static_cast<double>(values.size()));
  }
  if (!values.empty()) curve.points.emplace_back(values.back(), 1.0);
  return curve;
}

constexpr const char* kSimulated = kFirstColour;
constexpr const char* kMeasured = kSecondColour;

std::vector<double> milliseconds(const std::vector<RequestRecord>& records, SimTime (RequestRecord::*time)() const) {
  std::vector<double> out;
  out.reserve(records.size());
  for (const RequestRecord& r : records) out.push_back(to_seconds((r.*time)()).value() / kMilli);
  return out;
}

std::vector<double> milliseconds(const std::vector<AnswerPair>& pairs, RecordedAnswer AnswerPair::*side,
                                 Seconds RecordedAnswer::*time) {
  std::vector<double> out;
  out.reserve(pairs.size());
  for (const AnswerPair& p : pairs) out.push_back((p.*side.*time).value() / kMilli);
  return out;
}

std::string distributions(const SimulateAnswer& answer) {
  std::string out = "<h2>Distributions: share of the requests at or below</h2>\n<div class=\"plots\">";
  if (!answer.recorded.empty()) {
    const auto both = [&](const char* title, Seconds RecordedAnswer::*time) {
      return plot(
          {title, "ms"},
          {distribution_of("simulated", kSimulated, milliseconds(answer.recorded, &AnswerPair::simulated, time)),
           distribution_of("measured", kMeasured, milliseconds(answer.recorded, &AnswerPair::measured, time))});
    };
    return out + both("TTFT", &RecordedAnswer::ttft) + both("TPOT of a request", &RecordedAnswer::tpot) + "</div>\n";
  }
  const auto one = [&](const char* title, SimTime (RequestRecord::*time)() const) {
    return plot({title, "ms"}, {distribution_of("simulated", kSimulated, milliseconds(answer.records, time))});
  };
  return out + one("TTFT", &RequestRecord::ttft) + one("TPOT of a request", &RequestRecord::tpot) +
         one("end to end", &RequestRecord::e2e) + "</div>\n";
}

std::string over_time(const SimulationResult& result) {
  Curve running{.name = "running", .colour = kSimulated};
  Curve waiting{.name = "waiting", .colour = kMeasured};
  Curve cache{.name = "cache", .colour = kSimulated};
  for (const SeriesPoint& p : result.series) {
    const double at = to_seconds(p.time).value();
    running.points.emplace_back(at, static_cast<double>(p.running));
    waiting.points.emplace_back(at, static_cast<double>(p.waiting));
    cache.points.emplace_back(at, p.kv_use_ratio);
  }
  return "<h2>Over time</h2>\n<div class=\"plots\">" + plot({"requests", "s"}, {running, waiting}) +
         plot({"part of the cache in use", "s"}, {cache}) + "</div>\n";
}

}  // namespace

std::string simulate_page(const SimulateAnswer& answer, const std::string& table) {
  std::string body =
      "<h1>" + html_text(answer.estimate.request.model.name) + " simulated</h1>\n<pre>" + html_text(table) + "</pre>\n";
  if (answer.result) body += distributions(answer) + over_time(*answer.result);
  return page("shardplan simulate", body);
}

}  // namespace shardplan
