#include "tools/tables/step_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/table.h"
#include "base/units.h"
#include "planner/dropped_picks.h"
#include "tools/tables/numbers.h"

namespace shardplan {
namespace {

using Align = Table::Align;
using Cells = std::vector<std::string>;

// "11.25 ms = compute 6.36 ms + communication 1.63 ms + ...", parts that are nothing left out.
std::string sum_line(const StepTime& t) {
  std::string parts;
  const auto add = [&parts](const char* name, Seconds time) {
    if (time > Seconds(0)) parts += fmt::format("{} {} {}", parts.empty() ? " =" : " +", name, format_seconds(time));
  };
  add("compute", t.compute);
  add("communication", t.exposed_communication);
  add("waiting for the busiest rank", t.wait);
  add("fixed costs", t.overhead);
  const Seconds hidden = t.communication - t.exposed_communication;
  if (hidden > Seconds(0)) parts += fmt::format("; {} of communication is hidden", format_seconds(hidden));
  return format_seconds(t.seconds) + parts;
}

// Rows that say the same of different kinds of layers become one.
struct CountedRow {
  std::int64_t count = 0;
  Seconds each;
  Cells before;  // cells left of "times"
  Cells after;   // cells right of it
};

void add_row(std::vector<CountedRow>& rows, CountedRow row) {
  const auto same = std::find_if(rows.begin(), rows.end(), [&row](const CountedRow& other) {
    return other.before == row.before && other.after == row.after;
  });
  if (same == rows.end()) rows.push_back(std::move(row));
  else same->count += row.count;
}

void print_rows(Table& table, const std::vector<CountedRow>& rows, Seconds step) {
  for (const CountedRow& row : rows) {
    const Seconds all = row.each * static_cast<double>(row.count);
    Cells cells = row.before;
    cells.push_back(whole(row.count));
    cells.insert(cells.end(), row.after.begin(), row.after.end());
    cells.push_back(in_milliseconds(all));
    cells.push_back(step > Seconds(0) ? in_percent(all / step) : "-");
    table.add_row(std::move(cells));
  }
}

std::string ops_table(const StepBreakdown& step) {
  std::vector<CountedRow> rows;
  for (const OpRow& op : step.ops) {
    add_row(rows, {op.count, op.time, {op.name, op.bound},
                   {short_number(op.flops.value() / 1e9), in_mib(op.bytes), in_microseconds(op.time)}});
  }
  Table table({{"operation", Align::kLeft}, {"bound by", Align::kLeft}, {"times"}, {"GFLOP each"}, {"MiB each"}, {"us each"}, {"ms"}, {"share"}});
  print_rows(table, rows, step.time.seconds);
  return table.text(2);
}

std::string collectives_table(const StepBreakdown& step) {
  if (step.collectives.empty()) return "";
  std::vector<CountedRow> rows;
  for (const CollectiveRow& row : step.collectives) {
    add_row(rows, {row.count, row.time, {row.kind, row.name, row.algorithm, std::to_string(row.group_size)},
                   {in_kib(row.message_bytes), in_kib(row.sent_bytes_per_rank), in_microseconds(row.time)}});
  }
  Table table({{"collective", Align::kLeft}, {"of", Align::kLeft}, {"by", Align::kLeft}, {"ranks"}, {"times"}, {"KiB message"},
               {"KiB sent"}, {"us each"}, {"ms"}, {"share"}});
  print_rows(table, rows, step.time.seconds);
  return "\n" + table.text(2);
}

}  // namespace

std::string step_table(const std::string& title, const StepBreakdown& step) {
  if (step.ops.empty()) return "";
  const std::string drops = step.drops ? fmt::format("  {}\n", dropped_text(step.drops)) : "";
  return fmt::format("{}: {}\n{}{}{}", title, sum_line(step.time), drops, ops_table(step), collectives_table(step));
}

}  // namespace shardplan
