#include "models/quantization/module_patterns.h"

#include <algorithm>
#include <functional>

namespace shardplan {
namespace {

constexpr std::string_view kRegexPrefix = "re:";
constexpr std::size_t kMaxName = 512;

std::string without(std::string_view text, std::string_view part) {
  std::string result;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part)) {
    result.append(text.substr(0, at));
    text.remove_prefix(at + part.size());
  }
  return result.append(text);
}

// Whether `glob` matches `text` from its start up to the end of a component.
bool glob_matches(std::string_view glob, std::string_view text) {
  std::size_t g = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_text = 0;
  while (true) {
    const bool covered = g == glob.size() && (t == text.size() || text[t] == '.');
    if (covered) return true;
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      star_text = t;
    } else if (g < glob.size() && t < text.size() && glob[g] == text[t]) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos && star_text < text.size()) {
      g = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
}

}  // namespace

bool ModulePatterns::add(std::string_view pattern) {
  if (pattern.size() > kMaxName) return false;
  if (pattern.substr(0, kRegexPrefix.size()) == kRegexPrefix) {
    const std::string bare =
        without(without(pattern.substr(kRegexPrefix.size()), "language_model\\."), "language_model.");
    std::optional<NameRegex> expression = NameRegex::parse(bare);
    if (expression) expressions_.push_back(std::move(*expression));
    return expression.has_value();
  }
  std::string name = without(pattern, "language_model.");
  if (name.find('*') == std::string::npos) {
    names_.insert(std::move(name));
  } else {
    globs_.push_back(std::move(name));
  }
  return true;
}

bool ModulePatterns::matches(std::string_view module) const {
  const auto is_glob_of = [](std::string_view text) {
    return [text](const std::string& glob) { return glob_matches(glob, text); };
  };
  for (std::size_t start = 0; start < module.size();) {
    const std::string_view rest = module.substr(start);
    for (std::size_t end = rest.find('.');; end = rest.find('.', end + 1)) {
      if (names_.contains(rest.substr(0, end))) return true;
      if (end == std::string_view::npos) break;
    }
    if (std::any_of(globs_.begin(), globs_.end(), is_glob_of(rest))) return true;
    const std::size_t dot = rest.find('.');
    start = dot == std::string_view::npos ? module.size() : start + dot + 1;
  }
  return std::any_of(expressions_.begin(), expressions_.end(),
                     [&](const NameRegex& expression) { return expression.matches(module); });
}

std::int64_t ModulePatterns::cost() const {
  constexpr std::int64_t kExpressionCost = 16;
  return static_cast<std::int64_t>(globs_.size()) + kExpressionCost * static_cast<std::int64_t>(expressions_.size());
}

}  // namespace shardplan
