#include "tools/tables/rejection_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/table.h"
#include "tools/tables/numbers.h"
#include "tools/tables/wrap.h"

namespace shardplan {
namespace {

using Align = Table::Align;
constexpr std::size_t kReasonsOfRule = 4;  // shown; a document has all of them
constexpr std::size_t kReasonWidth = 90;
constexpr std::size_t kFamilyWidth = 34;

// Families that one sentence refuses.
struct Reason {
  std::string rule;
  std::string text;
  std::string families;
  std::int64_t count = 0;
};

std::string sentence_of(const Rejection& row) {
  return row.suggestion.empty() ? row.message : row.message + "; " + row.suggestion;
}

std::vector<Reason> reasons_of(const std::vector<Rejection>& rejected) {
  std::vector<Reason> reasons;
  for (const Rejection& row : rejected) {
    const std::string text = sentence_of(row);
    auto same = std::find_if(reasons.begin(), reasons.end(), [&](const Reason& r) { return r.rule == row.rule && r.text == text; });
    if (same == reasons.end()) same = reasons.insert(reasons.end(), {row.rule, text, "", 0});
    same->families += (same->families.empty() ? "" : ", ") + row.family;
    same->count += row.count;
  }
  return reasons;
}

void add_lines(Table& table, const Reason& reason) {
  const auto families = wrapped(reason.families, kFamilyWidth);
  const auto texts = wrapped(reason.text, kReasonWidth);
  for (std::size_t i = 0; i < std::max(families.size(), texts.size()); ++i) {
    table.add_row({i == 0 ? reason.rule : "", i < families.size() ? families[i] : "", i == 0 ? whole(reason.count) : "",
                   i < texts.size() ? texts[i] : ""});
  }
}

}  // namespace

std::string rejection_table(const std::vector<Rejection>& rejected) {
  if (rejected.empty()) return "";
  Table table({{"refused by", Align::kLeft}, {"what", Align::kLeft}, {"how many"}, {"why the nearest of them fails", Align::kLeft}});
  std::map<std::string, std::size_t> shown;
  std::size_t left = 0;
  for (const Reason& reason : reasons_of(rejected)) {
    if (shown[reason.rule]++ < kReasonsOfRule) add_lines(table, reason);
    else ++left;
  }
  std::string text = "\n" + table.text(2);
  if (left > 0) text += fmt::format("  and {} more in the document (--format json)\n", counted(static_cast<std::int64_t>(left), "reason"));
  return text;
}

}  // namespace shardplan
