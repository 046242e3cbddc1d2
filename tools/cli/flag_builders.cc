#include "tools/cli/flag_builders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.h"

namespace shardplan {

Flag count_flag(std::string name, std::string help, std::optional<std::int64_t>& target, CountRange range) {
  auto store = [name, range, &target](const std::string& text) { target = parse_count(text, name, range); };
  return {std::move(name), "N", std::move(help), std::move(store), true};
}

Flag number_flag(std::string name, std::string value, std::string help, std::optional<double>& target, NumberRange range) {
  auto store = [name, range, &target](const std::string& text) { target = parse_number(text, name, range); };
  return {std::move(name), std::move(value), std::move(help), std::move(store), true};
}

Flag text_flag(std::string name, std::string value, std::string help, std::string& target) {
  auto store = [name, value, &target](const std::string& text) {
    if (text.empty()) throw InputError(name, "is empty", "a " + value);
    target = text;
  };
  return {std::move(name), std::move(value), std::move(help), std::move(store)};
}

Flag switch_flag(std::string name, std::string help, bool& target) {
  return {std::move(name), "", std::move(help), [&target](const std::string&) { target = true; }};
}

std::string joined_names(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, "|")); }

}  // namespace shardplan
