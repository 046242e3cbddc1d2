#include "planner/export/yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

namespace shardplan {
namespace {

bool is_number(std::string_view value) {
  if (value.empty() || value.find_first_not_of("0123456789.") != std::string_view::npos) return false;
  return std::count(value.begin(), value.end(), '.') <= 1 && value.front() != '.' && value.back() != '.';
}

bool is_list(std::string_view value) {
  return value.find(',') != std::string_view::npos && value.find_first_not_of("0123456789,") == std::string_view::npos;
}

// The part of `name` before the first dot.
std::string head_of(const std::string& name) { return name.substr(0, name.find('.')); }

std::string listed(std::string_view value) {
  std::string text = "[";
  for (const char c : value) text += c == ',' ? std::string(", ") : std::string(1, c);
  return text + "]";
}

}  // namespace

std::string yaml_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      quoted += std::string("\\") + c;
    else if (c == '\n')
      quoted += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20)
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    else
      quoted += c;
  }
  return quoted + "\"";
}

std::string yaml_scalar(const std::string& value) {
  if (is_number(value) || value == "true" || value == "false") return value;
  return is_list(value) ? listed(value) : yaml_text(value);
}

std::string yaml_mapping(const Arguments& arguments, int indent) {
  const std::string blanks(static_cast<std::size_t>(indent), ' ');
  std::string text;
  std::vector<std::string> done;
  for (const EngineArgument& a : arguments.list()) {
    const std::string head = head_of(a.name);
    if (std::find(done.begin(), done.end(), head) != done.end()) continue;
    done.push_back(head);
    if (head == a.name) {
      text += fmt::format("{}{}: {}\n", blanks, head, yaml_scalar(a.value));
      continue;
    }
    Arguments inside;
    for (const EngineArgument& b : arguments.list()) {
      if (b.name.starts_with(head + ".")) inside.set(b.name.substr(head.size() + 1), b.value);
    }
    text += fmt::format("{}{}:\n{}", blanks, head, yaml_mapping(inside, indent + 2));
  }
  return text;
}

std::string yaml_block(std::string_view text, int indent) {
  const std::string blanks(static_cast<std::size_t>(indent), ' ');
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    out += line.empty() ? "\n" : blanks + std::string(line) + "\n";
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace shardplan
