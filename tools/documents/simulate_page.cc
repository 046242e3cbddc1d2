#include "tools/documents/simulate_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tools/documents/page.h"

namespace shardplan {
namespace {

constexpr double kWidth = 460;  // of a plot, pixels
constexpr double kHeight = 300;
constexpr double kMargin = 48;
constexpr int kTicks = 5;
constexpr std::size_t kMostPoints = 400;  // of a curve

struct Curve {
  const char* name;
  const char* colour;
  std::vector<std::pair<double, double>> points;
};

// Share of `values` at or below each of them.
Curve distribution_of(const char* name, const char* colour, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  Curve curve{name, colour, {}};
  const std::size_t stride = std::max<std::size_t>(1, values.size() / kMostPoints);
  for (std::size_t i = 0; i < values.size(); i += stride) {
    curve.points.emplace_back(values[i], static_cast<double>(i + 1) / static_cast<double>(values.size()));
  }
  if (!values.empty()) curve.points.emplace_back(values.back(), 1.0);
  return curve;
}

// Curves on linear axes from 0.
std::string plot(const std::string& title, const char* across, const std::vector<Curve>& curves) {
  double right = 0;
  double top = 0;
  for (const Curve& curve : curves) {
    for (const auto& [x, y] : curve.points) {
      right = std::max(right, x);
      top = std::max(top, y);
    }
  }
  if (right <= 0 || top <= 0) return "";
  const auto at_x = [&](double x) { return kMargin + x / right * (kWidth - 2 * kMargin); };
  const auto at_y = [&](double y) { return kHeight - kMargin - y / top * (kHeight - 2 * kMargin); };
  std::string out =
      fmt::format("<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\"><title>{2}</title>", kWidth,
                  kHeight, title);
  out += fmt::format("<text x=\"{}\" y=\"18\" class=\"t\">{}</text>", kMargin, title);
  for (int i = 0; i <= kTicks; ++i) {
    const double x = right * i / kTicks;
    const double y = top * i / kTicks;
    out += fmt::format("<path class=\"g\" d=\"M{0:.1f},{1:.1f}V{2:.1f}M{3:.1f},{4:.1f}H{5:.1f}\"/>", at_x(x), at_y(0),
                       at_y(top), at_x(0), at_y(y), at_x(right));
    out += fmt::format("<text class=\"a\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.3g}</text>", at_x(x),
                       kHeight - kMargin + 16, x);
    out += fmt::format("<text class=\"a\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.3g}</text>", kMargin - 6,
                       at_y(y) + 4, y);
  }
  double legend = kWidth - kMargin;
  for (const Curve& curve : curves) {
    std::string path;
    for (const auto& [x, y] : curve.points)
      path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "M" : "L", at_x(x), at_y(y));
    out += fmt::format("<path fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\" d=\"{}\"/>", curve.colour, path);
    if (curves.size() > 1)
      out += fmt::format("<text class=\"a\" x=\"{:.1f}\" y=\"34\" text-anchor=\"end\" fill=\"{}\">{}</text>", legend,
                         curve.colour, curve.name);
    legend -= 80;
  }
  return out + fmt::format("<text class=\"a\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text></svg>\n", kWidth / 2,
                           kHeight - 8, across);
}

constexpr const char* kSimulated = "#4269d0";
constexpr const char* kMeasured = "#ff725c";

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
          title, "ms",
          {distribution_of("simulated", kSimulated, milliseconds(answer.recorded, &AnswerPair::simulated, time)),
           distribution_of("measured", kMeasured, milliseconds(answer.recorded, &AnswerPair::measured, time))});
    };
    return out + both("TTFT", &RecordedAnswer::ttft) + both("TPOT of a request", &RecordedAnswer::tpot) + "</div>\n";
  }
  const auto one = [&](const char* title, SimTime (RequestRecord::*time)() const) {
    return plot(title, "ms", {distribution_of("simulated", kSimulated, milliseconds(answer.records, time))});
  };
  return out + one("TTFT", &RequestRecord::ttft) + one("TPOT of a request", &RequestRecord::tpot) +
         one("end to end", &RequestRecord::e2e) + "</div>\n";
}

std::string over_time(const SimulationResult& result) {
  Curve running{"running", kSimulated, {}};
  Curve waiting{"waiting", kMeasured, {}};
  Curve cache{"cache", kSimulated, {}};
  for (const SeriesPoint& p : result.series) {
    const double at = to_seconds(p.time).value();
    running.points.emplace_back(at, static_cast<double>(p.running));
    waiting.points.emplace_back(at, static_cast<double>(p.waiting));
    cache.points.emplace_back(at, p.kv_use_ratio);
  }
  return "<h2>Over time</h2>\n<div class=\"plots\">" + plot("requests", "s", {running, waiting}) +
         plot("part of the cache in use", "s", {cache}) + "</div>\n";
}

}  // namespace

std::string simulate_page(const SimulateAnswer& answer, const std::string& table) {
  std::string body =
      "<h1>" + html_text(answer.estimate.request.model.name) + " simulated</h1>\n<pre>" + html_text(table) + "</pre>\n";
  if (answer.result) body += distributions(answer) + over_time(*answer.result);
  return page("shardplan simulate", body);
}

}  // namespace shardplan
