// Words and commands for bash, safe whatever they contain.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardplan {

// The word as bash reads it back: as it is when plain, else in single quotes.
[[nodiscard]] std::string shell_word(std::string_view word);
// For a comment: line breaks and control characters become spaces.
[[nodiscard]] std::string shell_comment(std::string_view text);

// A command with one option to a line. Values are quoted; `raw` ones are shell expressions of our own ("$PORT").
class ShellCommand {
 public:
  explicit ShellCommand(std::vector<std::string> words);
  ShellCommand& flag(const std::string& name);
  ShellCommand& option(const std::string& name, const std::string& value);
  ShellCommand& option(const std::string& name, std::int64_t value);
  ShellCommand& raw_option(const std::string& name, const std::string& expression);

  [[nodiscard]] std::string one_line() const;
  // With `\` at line ends; `tail` (a shell expression) is a last line of its own.
  [[nodiscard]] std::string lines(const std::string& tail = "") const;

 private:
  std::vector<std::string> parts_;
};

}  // namespace shardplan
