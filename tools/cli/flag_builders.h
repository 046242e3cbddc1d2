// Flags that store into a variable. The variable must outlive the flag.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/cli/flag.h"
#include "tools/cli/values.h"

namespace shardplan {

[[nodiscard]] Flag count_flag(std::string name, std::string help, std::optional<std::int64_t>& target, CountRange range);
[[nodiscard]] Flag number_flag(std::string name, std::string value, std::string help, std::optional<double>& target,
                               NumberRange range);
[[nodiscard]] Flag text_flag(std::string name, std::string value, std::string help, std::string& target);
[[nodiscard]] Flag switch_flag(std::string name, std::string help, bool& target);

// One of a few names, each standing for a value. --help lists them: "a|b|c".
template <class T>
using Choices = std::vector<std::pair<std::string, T>>;

[[nodiscard]] std::string joined_names(const std::vector<std::string>& names);

template <class T, class Target>
[[nodiscard]] Flag choice_flag(std::string name, std::string help, Target& target, Choices<T> choices) {
  std::vector<std::string> names;
  for (const auto& [choice, value] : choices) names.push_back(choice);
  const std::string shown = joined_names(names);
  auto store = [name, names, choices = std::move(choices), &target](const std::string& text) {
    target = choices[parse_choice(text, name, names)].second;
  };
  return {std::move(name), shown, std::move(help), std::move(store)};
}

}  // namespace shardplan
