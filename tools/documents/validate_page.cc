#include "tools/documents/validate_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>

#include "tools/documents/page.h"
#include "tools/documents/point_section.h"
#include "tools/documents/scatter.h"
#include "tools/tables/error_cells.h"

namespace shardplan {
namespace {

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
    legend +=
        fmt::format("<span style=\"color:{}\">&#9679;</span> {} &nbsp; ", scatter_colour(colour), html_text(name));
  }
  const auto ms = [](std::optional<double> seconds) { return seconds ? std::optional(*seconds * 1e3) : seconds; };
  const auto& j = r.judged;
  std::string out = legend + "</p><div class=\"plots\">";
  out += scatter("TPOT, ms", dots_of(r, colours, [&](std::size_t i) {
                   return std::pair(ms(r.rows[i].measured.tpot), j[i].predicted.tpot * 1e3);
                 }));

  out += scatter("output tokens/s/GPU", dots_of(r, colours, [&](std::size_t i) {
                   return std::pair(r.rows[i].measured.throughput, j[i].predicted.throughput);
                 }));

  out += scatter("TTFT, ms", dots_of(r, colours, [&](std::size_t i) {
                   return std::pair(ms(r.rows[i].measured.ttft), j[i].predicted.ttft * 1e3);
                 }));

  out += scatter("TPOT of the other planner, ms", dots_of(r, colours, [&](std::size_t i) {
                   return std::pair(ms(r.rows[i].measured.tpot), r.rows[i].peer.tpot.value_or(0) * 1e3);
                 }));

  return out + "</div>\n";
}

std::string errors_row(const std::string& name, const QuantityErrors& e) {
  const ErrorCells tpot = cells_of(e.tpot), throughput = cells_of(e.throughput), ttft = cells_of(e.ttft);
  std::string out = "<tr><th>" + html_text(name) + "</th>";
  for (const std::string* cell : {&tpot.count, &tpot.mean, &tpot.median, &tpot.p90, &tpot.bias, &tpot.coverage,
                                  &throughput.mean, &throughput.median, &ttft.mean, &ttft.median})
    out += "<td>" + *cell + "</td>";
  return out + "</tr>\n";
}

std::string table_head(const char* first) {
  return fmt::format(
      "<table><tr><th>{}</th><th>rows</th><th>TPOT mean</th><th>median</th><th>p90</th><th>bias</th><th>in "
      "interval</th>"
      "<th>tok/s/GPU mean</th><th>median</th><th>TTFT mean</th><th>median</th></tr>\n",
      first);
}

std::string not_predicted(const ValidateReport& r) {
  std::string out;
  for (const auto& [why, count] : refusals_of(r.priced))
    out += fmt::format("<p>{} not predicted: {}</p>\n", count, html_text(why));
  return out;
}

std::string serving_section(const ValidateReport& r) {
  std::string out =
      fmt::format("<h1>Predictions against {}</h1>\n<p>{} rows, {} legal, {} predicted. Errors in %.</p>\n",
                  html_text(std::filesystem::path(r.file).filename().string()), r.rows.size(), r.legal, r.predicted);
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
    out += fmt::format("<tr><th>{}</th><td>{:.2f}</td><td>{:.2f}</td></tr>\n", html_text(row_title(r, i)),
                       r.rows[i].measured.tpot.value_or(0) * 1e3, r.judged[i].predicted.tpot * 1e3);
  }
  return out + "</table>\n" + not_predicted(r);
}

}  // namespace

std::string validate_page(const std::vector<ValidateReport>& serving, const std::vector<PointReport>& points) {
  std::string body;
  for (const ValidateReport& r : serving) body += serving_section(r);
  for (const PointReport& r : points) body += point_section(r);
  return page("shardplan validate", body);
}

}  // namespace shardplan
