#include "tools/tables/explain_table.h"

#include <fmt/format.h>

#include "base/table.h"
#include "base/units.h"
#include "tools/tables/movement_table.h"
#include "tools/tables/numbers.h"
#include "tools/tables/pools_table.h"
#include "tools/tables/rejection_table.h"
#include "tools/tables/wrap.h"

namespace shardplan {
namespace {

using Align = Table::Align;
constexpr std::size_t kWidth = 100;

// A sentence on lines of its own; nothing for none.
std::string sentence(const std::string& text) {
  std::string lines;
  for (const std::string& line : wrapped(text, kWidth)) lines += line.empty() ? "" : "  " + line + "\n";
  return lines;
}

std::string shares_table(const std::vector<TimeShare>& shares) {
  if (shares.empty()) return "";
  Table table({{"between two tokens of a user", Align::kLeft}, {"ms"}, {"share"}});
  for (const TimeShare& share : shares) table.add_row({share.what, in_milliseconds(share.time), in_percent(share.share_ratio)});
  return "\n" + table.text(2);
}

std::string sensitivity_table(const std::vector<Sensitivity>& rows) {
  if (rows.empty()) return "";
  Table table({{"if", Align::kLeft}, {"the winner then", Align::kLeft}, {"", Align::kLeft}});
  for (const Sensitivity& row : rows) {
    const std::string named = row.change + ": ";  // stands in the first column already
    const auto lines = wrapped(row.message.starts_with(named) ? row.message.substr(named.size()) : row.message, kWidth);
    for (std::size_t i = 0; i < lines.size(); ++i) table.add_row({i == 0 ? row.change : "", i == 0 ? row.winner : "", lines[i]});
  }
  return "\nWhat would change the order\n" + table.text(2);
}

std::string changes_list(const std::vector<std::string>& changes) {
  if (changes.empty()) return "";
  std::string text = "\nIt would take, nearest first:\n";
  for (const std::string& change : changes) text += "  - " + change + "\n";
  return text;
}

}  // namespace

std::string explain_table(const ExplainAnswer& answer) {
  const Explanation& e = answer.why;
  std::string text = e.found ? "The winner\n" + sentence(e.winner) + sentence(e.runner_up) : "No plan meets what was asked.\n";
  if (e.found) text += "\nWhat binds it\n" + sentence(e.binds) + sentence(e.capacity) + sentence(e.drops);
  text += shares_table(e.shares);
  if (answer.winner.lowered) text += "\n" + movement_table(data_movement(answer.request, answer.winner.plan));
  text += changes_list(e.nearest_feasible) + sensitivity_table(e.sensitivity);
  if (answer.pools) text += pools_table(*answer.pools, answer.result);
  return text + rejection_table(e.families);
}

}  // namespace shardplan
