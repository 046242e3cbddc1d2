#include "tools/documents/validate_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>

namespace shardplan {
namespace {

constexpr double kSize = 420;  // of a plot, pixels
constexpr double kMargin = 48;
constexpr std::array<const char*, 8> kColours{"#4269d0", "#efb118", "#ff725c", "#6cc5b0",
                                              "#3ca951", "#ff8ab7", "#a463f2", "#9c6b4e"};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string percent(double ratio) { return fmt::format("{:.1f}", ratio * 100); }

struct Dot {
  double measured = 0, predicted = 0;
  std::size_t colour = 0;
  std::string title;
};

// Predicted over measured on logarithmic axes, with the diagonal and lines at 20 % beside it.
class Scatter {
 public:
  Scatter(std::string title, std::vector<Dot> dots) : title_(std::move(title)), dots_(std::move(dots)) {
    for (const Dot& d : dots_) {
      low_ = std::min({low_, d.measured, d.predicted});
      high_ = std::max({high_, d.measured, d.predicted});
    }
    low_ = std::pow(10, std::floor(std::log10(low_) * 2) / 2);
    high_ = std::pow(10, std::ceil(std::log10(high_) * 2) / 2);
  }

  [[nodiscard]] std::string svg() const {
    if (dots_.empty()) return "";
    std::string out =
        fmt::format("<svg viewBox=\"0 0 {0} {0}\" width=\"{0}\" height=\"{0}\" role=\"img\"><title>{1}</title>", kSize,
                    escaped(title_));
    out += fmt::format("<text x=\"{}\" y=\"16\" class=\"t\">{}</text>", kMargin, escaped(title_));
    for (double tick = low_; tick <= high_ * 1.001; tick *= std::sqrt(10.0)) {
      out += fmt::format("<path class=\"g\" d=\"M{0:.1f},{1:.1f}V{2:.1f}M{1:.1f},{3:.1f}H{4:.1f}\"/>", x(tick), kMargin,
                         kSize - kMargin, y(tick), kSize - kMargin);
      out += fmt::format("<text class=\"a\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.3g}</text>", x(tick),
                         kSize - kMargin + 16, tick);
      out += fmt::format("<text class=\"a\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.3g}</text>", kMargin - 6,
                         y(tick) + 4, tick);
    }
    for (const double factor : {1.0, 1.2, 1 / 1.2}) out += line(factor);
    for (const Dot& d : dots_) {
      out += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.4\" fill=\"{}\" fill-opacity=\".6\"><title>{}</title></circle>",
          x(d.measured), y(d.predicted), kColours[d.colour % kColours.size()], escaped(d.title));
    }
    return out + fmt::format("<text class=\"a\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">measured</text></svg>\n",
                             kSize / 2, kSize - 12);
  }

 private:
  [[nodiscard]] double share(double value) const { return std::log(value / low_) / std::log(high_ / low_); }
  [[nodiscard]] double x(double value) const { return kMargin + share(value) * (kSize - 2 * kMargin); }
  [[nodiscard]] double y(double value) const { return kSize - kMargin - share(value) * (kSize - 2 * kMargin); }
  [[nodiscard]] std::string line(double factor) const {
    const double from = std::max(low_, low_ / factor);
    const double to = std::min(high_, high_ / factor);
    return fmt::format("<path class=\"{}\" d=\"M{:.1f},{:.1f}L{:.1f},{:.1f}\"/>", factor == 1 ? "d" : "e", x(from),
                       y(from * factor), x(to), y(to * factor));
  }

  std::string title_;
  std::vector<Dot> dots_;
  double low_ = 1e300, high_ = 1e-300;
};

std::string row_title(const ValidateReport& r, std::size_t i) {
  const ServingRow& row = r.rows[i];
  return fmt::format("line {}: {} tp{} ep{} {}/{} c{}", row.line, kernel_group(row), row.tp, row.ep, row.isl, row.osl,
                     row.concurrency);
}

using Picked = std::function<std::pair<std::optional<double>, double>(std::size_t)>;  // measured, predicted

std::vector<Dot> dots_of(const ValidateReport& r, const std::map<std::string, std::size_t>& colours,
                         const Picked& pick) {
  std::vector<Dot> dots;
  for (std::size_t i = 0; i < r.rows.size(); ++i) {
    const auto [measured, predicted] = pick(i);
    if (!r.priced[i].legal || !measured || predicted <= 0) continue;
    dots.push_back({*measured, predicted, colours.at(r.rows[i].model + ", " + r.rows[i].engine), row_title(r, i)});
  }
  return dots;
}

std::string plots(const ValidateReport& r) {
  std::map<std::string, std::size_t> colours;
  for (const ServingRow& row : r.rows) colours.try_emplace(row.model + ", " + row.engine, 0);
  std::string legend = "<p>";
  std::size_t next = 0;
  for (auto& [name, colour] : colours) {
    colour = next++;
    legend += fmt::format("<span style=\"color:{}\">&#9679;</span> {} &nbsp; ", kColours[colour % kColours.size()],
                          escaped(name));
  }
  const auto ms = [](std::optional<double> seconds) { return seconds ? std::optional(*seconds * 1e3) : seconds; };
  const auto& j = r.judged;
  std::string out = legend + "</p><div class=\"plots\">";
  out +=
      Scatter("TPOT, ms",
              dots_of(r, colours,
                      [&](std::size_t i) { return std::pair(ms(r.rows[i].measured.tpot), j[i].predicted.tpot * 1e3); }))
          .svg();
  out +=
      Scatter(
          "output tokens/s/GPU",
          dots_of(r, colours,
                  [&](std::size_t i) { return std::pair(r.rows[i].measured.throughput, j[i].predicted.throughput); }))
          .svg();
  out +=
      Scatter("TTFT, ms",
              dots_of(r, colours,
                      [&](std::size_t i) { return std::pair(ms(r.rows[i].measured.ttft), j[i].predicted.ttft * 1e3); }))
          .svg();
  out += Scatter("TPOT of the other planner, ms", dots_of(r, colours,
                                                          [&](std::size_t i) {
                                                            return std::pair(ms(r.rows[i].measured.tpot),
                                                                             r.rows[i].peer.tpot.value_or(0) * 1e3);
                                                          }))
             .svg();
  return out + "</div>\n";
}

std::string errors_row(const std::string& name, const QuantityErrors& e) {
  return fmt::format(
      "<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:+.1f}</td><td>{}</td><td>{}</td><td>{}</"
      "td><td>{}</td><td>{}</td></tr>\n",
      escaped(name), e.tpot.count, percent(e.tpot.mean_ape), percent(e.tpot.median_ape), percent(e.tpot.p90_ape),
      e.tpot.bias_median * 100, percent(e.tpot.interval_coverage), percent(e.throughput.mean_ape),
      percent(e.throughput.median_ape), percent(e.ttft.mean_ape), percent(e.ttft.median_ape));
}

std::string table_head(const char* first) {
  return fmt::format(
      "<table><tr><th>{}</th><th>rows</th><th>TPOT mean</th><th>median</th><th>p90</th><th>bias</th><th>in "
      "interval</th>"
      "<th>tok/s/GPU mean</th><th>median</th><th>TTFT mean</th><th>median</th></tr>\n",
      first);
}

constexpr const char* kStyle =
    "body{font:14px system-ui,sans-serif;margin:2em;max-width:1200px}table{border-collapse:collapse;margin:1em 0}"
    "td,th{padding:2px 10px;text-align:right;border-bottom:1px solid "
    "#ddd;font-weight:normal}th:first-child{text-align:left}"
    "tr:first-child "
    "th{font-weight:bold}.plots{display:flex;flex-wrap:wrap}.g{stroke:#eee;fill:none}.d{stroke:#333}.e{stroke:#aaa;"
    "stroke-dasharray:4}"
    ".a{font-size:11px;fill:#555}.t{font-size:14px;font-weight:bold}";

}  // namespace

std::string validate_page(const ValidateReport& r) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>shardplan validate</title><style>{}</style>\n",
      kStyle);
  out += fmt::format("<h1>Predictions against {}</h1>\n<p>{} rows, {} legal, {} predicted. Errors in %.</p>\n",
                     escaped(std::filesystem::path(r.file).filename().string()), r.rows.size(), r.legal, r.predicted);
  out += table_head("rows") + errors_row("cache holds the concurrency", r.overall);
  if (r.apart_count > 0) out += errors_row("cache cannot", r.apart);
  if (r.peer.tpot.count > 0)
    out += errors_row("that the other planner predicts", r.ours_beside_peer) + errors_row("the other planner", r.peer);
  out += "</table>\n" + plots(r);
  if (!r.folds.empty()) {
    out += "<h2>Fitted on other rows</h2>\n" + table_head("fitted on");
    for (const FoldLine& line : r.folds) out += errors_row(line.name, line.errors);
    out += "</table>\n";
  }
  out += "<h2>By group</h2>\n" + table_head("group");
  for (const GroupErrors& g : r.groups) out += errors_row(g.by + " " + g.name, g.errors);
  out +=
      "</table>\n<h2>Largest errors</h2>\n<table><tr><th>row</th><th>TPOT measured, ms</th><th>predicted</th></tr>\n";
  for (const std::size_t i : r.worst) {
    out += fmt::format("<tr><th>{}</th><td>{:.2f}</td><td>{:.2f}</td></tr>\n", escaped(row_title(r, i)),
                       r.rows[i].measured.tpot.value_or(0) * 1e3, r.judged[i].predicted.tpot * 1e3);
  }
  return out + "</table></html>\n";
}

}  // namespace shardplan
