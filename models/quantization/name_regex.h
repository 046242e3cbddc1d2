// The regular expressions of quantisation configs ("re:.*mlp\.(gate|up)_proj.*"), without backtracking.
//
// Files may be hostile, so this is a set-of-states simulation: time O(pattern * name), whatever the
// pattern. Known: literals, '.', [classes], \d \w \s and escaped literals, groups, '|', '*', '+', '?',
// '^', '$'. Not known: {counts}, look-around, back references; parse() then returns nullopt.
#pragma once

#include <bitset>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace shardplan {

class NameRegex {
 public:
  static constexpr std::size_t kMaxPattern = 256;

  [[nodiscard]] static std::optional<NameRegex> parse(std::string_view pattern);

  // Whether a prefix of `name` matches: re.match() of Python.
  [[nodiscard]] bool matches(std::string_view name) const;

  struct Instruction {
    enum class Kind { kCharacter, kSplit, kBegin, kEnd } kind = Kind::kCharacter;
    std::bitset<256> characters;  // kCharacter
    std::ptrdiff_t first = 1;     // kSplit: two relative targets
    std::ptrdiff_t second = 1;
  };

 private:
  std::vector<Instruction> program_;  // reaching its end is a match
};

}  // namespace shardplan
