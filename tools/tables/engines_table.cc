#include "tools/tables/engines_table.h"

#include <fmt/format.h>

#include "base/table.h"
#include "planner/rules.h"
#include "tools/tables/wrap.h"

namespace shardplan {
namespace {

using Align = Table::Align;

// "all", "0.20 on", "before 0.30", "0.20 to 0.30".
std::string versions_of(const VersionRange& range) {
  const std::string from = range.from;
  const std::string until = range.until;
  if (from.empty() && until.empty()) return "all";
  if (until.empty()) return from + " on";
  return from.empty() ? "before " + until : from + " to before " + until;
}

}  // namespace

std::string engines_table(const std::vector<Engine>& engines) {
  Table table({{"engine", Align::kLeft}, {"version", Align::kLeft}, {"rules"}, {"what it is", Align::kLeft}});
  for (const Engine& engine : engines) {
    table.add_row({engine.name, engine.default_version, std::to_string(engine.rules().size()), engine.help});
  }
  return table.text();
}

std::string rules_table(const Engine& engine) {
  constexpr std::size_t kWidth = 90;
  const std::string version = engine.default_version;
  std::string text = fmt::format("{}{}: {}\n", engine.name, version.empty() ? "" : " " + version, engine.help);
  Table table({{"rule", Align::kLeft}, {"versions", Align::kLeft}, {"breaking it is", Align::kLeft}, {"message", Align::kLeft}});
  for (const EngineRule& rule : engine.rules()) {
    const auto lines = wrapped(rule.message, kWidth);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      table.add_row({i == 0 ? rule.id : "", i == 0 ? versions_of(rule.versions) : "",
                     i > 0 ? "" : rule.severity == Severity::kError ? "illegal" : "a warning", lines[i]});
    }
  }
  return table.empty() ? text + "  no rules beyond those of the layouts themselves\n" : text + "\n" + table.text(2);
}

}  // namespace shardplan
