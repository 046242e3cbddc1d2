#include "tools/tables/point_table.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/table.h"
#include "tools/tables/error_cells.h"

namespace shardplan {
namespace {

std::string percent(double ratio) { return fmt::format("{:.1f}", ratio * 100); }

void add_errors(Table& table, const std::string& name, const ErrorStats& errors) {
  const ErrorCells e = cells_of(errors);
  table.add_row({name, e.count, e.mean, e.median, e.p90, e.bias, e.coverage});
}

std::string files_text(const PointReport& r) {
  if (r.files.size() == 1) return std::filesystem::path(r.files.front()).filename().string();
  return fmt::format("{} files", r.files.size());
}

std::string held_out_text(const PointReport& r) {
  Table table({{"fitted on these tables", Table::Align::kLeft},
               {"points"},
               {"held out: mean"},
               {"median"},
               {"table", Table::Align::kLeft}});
  for (const HeldOutRow& row : r.held_out) {
    table.add_row({row.name, fmt::format("{}", row.points), row.mean > 0 ? percent(row.mean) : "-",
                   row.median > 0 ? percent(row.median) : "-", row.on});
  }
  return table.empty() ? "" : "\nShapes that the fits of the profile did not see, errors in %\n" + table.text(2);
}

std::string worst_text(const PointReport& r) {
  Table table({{"line"},
               {"point", Table::Align::kLeft},
               {"measured"},
               {"predicted"},
               {"unit", Table::Align::kLeft},
               {"p10"},
               {"p90"},
               {"grows with", Table::Align::kLeft}});
  for (const WorstPoint& w : r.worst) {
    const MeasuredPoint& p = r.points[w.point];
    table.add_row({fmt::format("{}", p.line), w.what, fmt::format("{:.4g}", p.measured),
                   fmt::format("{:.4g}", p.predicted), r.quantities[p.quantity].unit,
                   fmt::format("{:.4g}", p.predicted * p.p10), fmt::format("{:.4g}", p.predicted * p.p90),
                   w.breakdown});
  }
  return table.empty() ? "" : "\nLargest errors\n" + table.text(2);
}

}  // namespace

std::string point_table(const PointReport& r) {
  std::string text = fmt::format("{}: {} {}, {} predicted\n\nErrors in %\n", files_text(r), measured_points(r), r.kind,
                                 r.overall.count + r.apart.count);
  Table all({{"points", Table::Align::kLeft}, {"count"}, {"mean"}, {"median"}, {"p90"}, {"bias"}, {"in interval"}});
  add_errors(all, "all", r.overall);
  if (r.apart.count > 0) add_errors(all, r.apart_name, r.apart);
  std::string by;
  for (const PointGroup& g : r.groups) {
    if (by != g.by) all.add_separator();
    by = g.by;
    add_errors(all, fmt::format("{} {}", g.by, g.name), g.errors);
  }
  text += all.text(2) + held_out_text(r) + worst_text(r);
  if (!r.left_out.empty()) text += "\nLeft out\n";
  for (const auto& [why, count] : r.left_out) text += fmt::format("  {}: {}\n", count, why);
  if (!r.not_predicted.empty()) text += "\nNot predicted\n";
  for (const auto& [why, count] : r.not_predicted) text += fmt::format("  {}: {}\n", count, why);
  for (const std::string& note : r.notes) text += note + "\n";
  return text;
}

}  // namespace shardplan
