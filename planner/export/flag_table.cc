#include "planner/export/flag_table.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/json.h"

namespace shardplan {
namespace {

bool is_choice(std::string_view choices, std::string_view value) {
  while (!choices.empty()) {
    const std::size_t space = choices.find(' ');
    if (choices.substr(0, space) == value) return true;
    if (space == std::string_view::npos) return false;
    choices.remove_prefix(space + 1);
  }
  return false;
}

std::string count_fault(const FlagRow& row, std::string_view value) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size())
    return fmt::format("{} takes a whole number, not '{}'", row.name, value);
  if (number < row.least || number > row.most)
    return fmt::format("{} {} is outside {} to {}", row.name, number, row.least, row.most);
  return "";
}

std::string counts_fault(const FlagRow& row, std::string_view value) {
  while (true) {
    const std::size_t comma = value.find(',');
    const std::string fault = count_fault(row, value.substr(0, comma));
    if (!fault.empty() || comma == std::string_view::npos) return fault;
    value.remove_prefix(comma + 1);
  }
}

std::string ratio_fault(const FlagRow& row, const std::string& value) {
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  const bool whole = !value.empty() && end == value.c_str() + value.size();
  return whole && number > 0 && number <= 1
             ? ""
             : fmt::format("{} takes a fraction above 0 and up to 1, not '{}'", row.name, value);
}

std::string json_fault(const FlagRow& row, const std::string& value) {
  try {
    (void)parse_json(value, row.name);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

}  // namespace

std::string flag_fault(const FlagRow& row, const EngineArgument& argument) {
  if (row.kind == FlagKind::kSwitch)
    return argument.is_switch ? "" : fmt::format("{} is a switch and takes no value", row.name);
  if (argument.is_switch) return fmt::format("{} needs a value", row.name);
  if (argument.is_expression)
    return row.kind == FlagKind::kCount || row.kind == FlagKind::kText
               ? ""
               : fmt::format("{} is no expression of the shell", row.name);
  switch (row.kind) {
    case FlagKind::kCount:
      return count_fault(row, argument.value);
    case FlagKind::kCounts:
      return counts_fault(row, argument.value);
    case FlagKind::kRatio:
      return ratio_fault(row, argument.value);
    case FlagKind::kJson:
      return json_fault(row, argument.value);
    case FlagKind::kChoice:
      return is_choice(row.choices, argument.value)
                 ? ""
                 : fmt::format("{} is one of: {}; not '{}'", row.name, row.choices, argument.value);
    case FlagKind::kText:
      return argument.value.empty() ? fmt::format("{} is empty", row.name) : "";
    case FlagKind::kSwitch:
      break;
  }
  return "";
}

}  // namespace shardplan
