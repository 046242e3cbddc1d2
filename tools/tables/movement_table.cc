#include "tools/tables/movement_table.h"

#include <fmt/format.h>

#include "base/table.h"
#include "base/units.h"
#include "tools/tables/numbers.h"

namespace shardplan {

std::string movement_table(const std::vector<DataMovement>& rows) {
  using Align = Table::Align;
  if (rows.empty()) return "";
  Table table({{"data movement", Align::kLeft},
               {"from", Align::kLeft},
               {"to", Align::kLeft},
               {"per", Align::kLeft},
               {"bytes"},
               {"link", Align::kLeft},
               {"time"},
               {"", Align::kLeft}});
  for (const DataMovement& row : rows) {
    const std::string bytes = row.bytes > 0 ? format_bytes(Bytes(static_cast<std::int64_t>(row.bytes))) : "";
    table.add_row(
        {row.what, row.from, row.to, row.per, bytes, row.link, time_text(row.time), row.critical ? "critical" : ""});
  }
  std::string text = table.text(2);
  for (const DataMovement& row : rows) {   // a scale event is explained, not only counted
    if (row.per.starts_with("scaling")) text += fmt::format("  {}: {}: {}\n", row.per, row.what, row.note);
  }
  return text;
}

std::string scaling_table(const std::vector<DataMovement>& rows) {
  std::vector<DataMovement> scaling;
  for (const DataMovement& row : rows) {
    if (row.per.starts_with("scaling")) scaling.push_back(row);
  }
  return movement_table(scaling);
}

}  // namespace shardplan
