#include "planner/export/shell.h"

#include <algorithm>
#include <utility>

namespace shardplan {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./:=,@%+").find(c) != std::string_view::npos;
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

}  // namespace

std::string shell_word(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_comment(std::string_view text) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return out;
}

ShellCommand::ShellCommand(std::vector<std::string> words) {
  for (std::string& word : words) word = shell_word(word);
  parts_.push_back(joined(words, " "));
}

ShellCommand& ShellCommand::flag(const std::string& name) {
  parts_.push_back(name);
  return *this;
}

ShellCommand& ShellCommand::option(const std::string& name, const std::string& value) {
  return raw_option(name, shell_word(value));
}
ShellCommand& ShellCommand::option(const std::string& name, std::int64_t value) {
  return raw_option(name, std::to_string(value));
}

ShellCommand& ShellCommand::raw_option(const std::string& name, const std::string& expression) {
  parts_.push_back(name + " " + expression);
  return *this;
}

std::string ShellCommand::one_line() const { return joined(parts_, " "); }

std::string ShellCommand::lines(const std::string& tail) const {
  std::vector<std::string> parts = parts_;
  if (!tail.empty()) parts.push_back(tail);
  return joined(parts, " \\\n  ");
}

}  // namespace shardplan
