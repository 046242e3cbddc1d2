#include "tools/documents/point_section.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "tools/documents/page.h"
#include "tools/documents/scatter.h"
#include "tools/tables/error_cells.h"
#include "tools/tables/numbers.h"

namespace shardplan {
namespace {

constexpr std::size_t kMostDots = 4000;  // of a plot

std::string percent(double ratio) { return fmt::format("{:.1f}", ratio * 100); }

std::string errors_row(const std::string& name, const ErrorStats& errors) {
  const ErrorCells e = cells_of(errors);
  return fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                     html_text(name), e.count, e.mean, e.median, e.p90, e.bias, e.coverage);
}

std::string table_head(const char* first) {
  return fmt::format(
      "<table><tr><th>{}</th><th>points</th><th>mean</th><th>median</th><th>p90</th><th>bias</th><th>in "
      "interval</th></tr>\n",
      first);
}

// One plot for each quantity and name of the second grouping (family, model); an even pick where there are too many
// points.
std::string plots(const PointReport& r) {
  std::map<std::pair<std::size_t, std::size_t>, std::vector<const MeasuredPoint*>> by;
  for (const MeasuredPoint& p : r.points) {
    if (p.predicted > 0) by[{p.quantity, p.groups[1]}].push_back(&p);
  }
  std::string out = "<div class=\"plots\">";
  for (const auto& [key, points] : by) {
    const std::size_t step = points.size() / kMostDots + 1;
    std::vector<Dot> dots;
    for (std::size_t i = 0; i < points.size(); i += step) {
      const MeasuredPoint& p = *points[i];
      dots.push_back({p.measured, p.predicted, p.groups[0],
                      fmt::format("{} line {}", std::filesystem::path(r.files[p.file]).filename().string(), p.line)});
    }
    const PointQuantity& q = r.quantities[key.first];
    out += scatter(fmt::format("{} {}, {}", r.groupings[1].names[key.second], q.name, q.unit), std::move(dots));
  }
  return out + "</div>\n";
}

}  // namespace

std::string point_section(const PointReport& r) {
  std::string out = fmt::format("<h1>Predictions against measured {}</h1>\n<p>{}, {}, {} predicted. Errors in %.</p>\n",
                                html_text(r.kind), counted(std::ssize(r.files), "file"),
                                counted(measured_points(r), "point"), whole(r.overall.count + r.apart.count));
  out += table_head("points") + errors_row("all", r.overall);
  if (r.apart.count > 0) out += errors_row(r.apart_name, r.apart);
  out += "</table>\n" + plots(r);
  if (!r.held_out.empty())
    out += "<h2>Not seen by the fits</h2>\n<table><tr><th>row</th><th>points</th><th>mean</th><th>median</th></tr>\n";
  for (const HeldOutRow& h : r.held_out) {
    out += fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n", html_text(h.name), h.points,
                       percent(h.mean), percent(h.median));
  }
  if (!r.held_out.empty()) out += "</table>\n";
  out += "<h2>By group</h2>\n" + table_head("group");
  for (const PointGroup& g : r.groups) out += errors_row(g.by + " " + g.name, g.errors);
  out +=
      "</table>\n<h2>Largest "
      "errors</h2>\n<table><tr><th>point</th><th>measured</th><th>predicted</th><th>unit</th><th>grows "
      "with</th></tr>\n";
  for (const WorstPoint& w : r.worst) {
    const MeasuredPoint& p = r.points[w.point];
    out += fmt::format("<tr><th>line {}: {}</th><td>{:.4g}</td><td>{:.4g}</td><td>{}</td><td>{}</td></tr>\n", p.line,
                       html_text(w.what), p.measured, p.predicted, html_text(r.quantities[p.quantity].unit),
                       html_text(w.breakdown));
  }
  out += "</table>\n";
  for (const auto* counts : {&r.left_out, &r.not_predicted}) {
    for (const auto& [why, count] : *counts) {
      out += fmt::format("<p>{} {}: {}</p>\n", count, counts == &r.left_out ? "left out" : "not predicted",
                         html_text(why));
    }
  }
  return out;
}

}  // namespace shardplan
