#include "models/quantization/name_regex.h"

#include <cctype>

namespace shardplan {
namespace {

using Instruction = NameRegex::Instruction;
using Program = std::vector<Instruction>;

Instruction split(std::ptrdiff_t first, std::ptrdiff_t second) {
  return {.kind = Instruction::Kind::kSplit, .characters = {}, .first = first, .second = second};
}

std::ptrdiff_t length(const Program& program) { return static_cast<std::ptrdiff_t>(program.size()); }

void append(Program& program, const Program& tail) { program.insert(program.end(), tail.begin(), tail.end()); }

std::bitset<256> characters_where(int (*predicate)(int)) {
  std::bitset<256> set;
  for (int c = 0; c < 128; ++c) set[static_cast<std::size_t>(c)] = predicate(c) != 0;
  return set;
}

// Recursive descent over the pattern; each part returns relocatable code, or sets failed_.
class Parser {
 public:
  explicit Parser(std::string_view pattern) : rest_(pattern) {}

  std::optional<Program> parse() {
    Program program = alternatives();
    if (failed_ || !rest_.empty()) return std::nullopt;
    return program;
  }

 private:
  [[nodiscard]] bool at(char c) const { return !rest_.empty() && rest_.front() == c; }
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  Program fail() {
    failed_ = true;
    rest_ = {};
    return {};
  }

  Program alternatives() {
    Program left = sequence();
    if (!at('|')) return left;
    take();
    const Program right = alternatives();
    Program program = {split(1, length(left) + 2)};
    append(program, left);
    program.push_back(split(length(right) + 1, length(right) + 1));
    append(program, right);
    return program;
  }

  Program sequence() {
    Program program;
    while (!rest_.empty() && !at('|') && !at(')')) append(program, repeated());
    return program;
  }

  Program repeated() {
    Program body = atom();
    const bool zero = at('*') || at('?');
    const bool many = at('*') || at('+');
    if (!zero && !many) return at('{') ? fail() : body;
    take();
    if (at('?')) take();  // lazy: the same set of matches
    if (at('*') || at('+') || at('?') || at('{')) return fail();
    if (many) body.push_back(split(-length(body), 1));
    Program program;
    if (zero) program.push_back(split(1, length(body) + 1));
    append(program, body);
    return program;
  }

  Program atom() {
    const char c = take();
    switch (c) {
      case '(':
        return group();
      case '[':
        return character_class();
      case '\\':
        return rest_.empty() ? fail() : escaped();
      case '.':
        return one(~std::bitset<256>());
      case '^':
        return {{.kind = Instruction::Kind::kBegin, .characters = {}}};
      case '$':
        return {{.kind = Instruction::Kind::kEnd, .characters = {}}};
      case '*':
      case '+':
      case '?':
      case '{':
        return fail();
      default:
        return literal(c);
    }
  }

  Program group() {
    if (at('?')) {
      if (rest_.substr(0, 2) != "?:") return fail();
      rest_.remove_prefix(2);
    }
    Program body = alternatives();
    if (!at(')')) return fail();
    take();
    return body;
  }

  Program character_class() {
    const bool negated = at('^');
    if (negated) take();
    std::bitset<256> set;
    while (!at(']')) {
      if (rest_.size() < 2 || at('\\')) return fail();
      const auto low = static_cast<unsigned char>(take());
      auto high = low;
      if (at('-') && rest_.size() > 1 && rest_[1] != ']') {
        take();
        high = static_cast<unsigned char>(take());
      }
      for (unsigned c = low; c <= high; ++c) set.set(c);
    }
    take();
    return one(negated ? ~set : set);
  }

  Program escaped() {
    const char c = take();
    if (c == 'd') return one(characters_where(std::isdigit));
    if (c == 's') return one(characters_where(std::isspace));
    if (c == 'w') return one(characters_where(std::isalnum) | std::bitset<256>().set('_'));
    return std::isalnum(static_cast<unsigned char>(c)) ? fail() : literal(c);
  }

  static Program one(const std::bitset<256>& set) {
    return {{.kind = Instruction::Kind::kCharacter, .characters = set}};
  }
  static Program literal(char c) { return one(std::bitset<256>().set(static_cast<unsigned char>(c))); }

  std::string_view rest_;
  bool failed_ = false;
};

// The states reachable without reading a character, kept as a worklist without repeats.
class States {
 public:
  explicit States(std::size_t count) : seen_(count) {}
  void add(std::size_t state) {
    if (seen_[state]) return;
    seen_[state] = true;
    list_.push_back(state);
  }
  [[nodiscard]] std::size_t size() const { return list_.size(); }
  [[nodiscard]] std::size_t operator[](std::size_t index) const { return list_[index]; }

 private:
  std::vector<bool> seen_;
  std::vector<std::size_t> list_;
};

}  // namespace

std::optional<NameRegex> NameRegex::parse(std::string_view pattern) {
  if (pattern.size() > kMaxPattern) return std::nullopt;
  std::optional<Program> program = Parser(pattern).parse();
  if (!program) return std::nullopt;
  NameRegex regex;
  regex.program_ = std::move(*program);
  return regex;
}

bool NameRegex::matches(std::string_view name) const {
  const std::size_t end = program_.size();
  States states(end + 1);
  states.add(0);
  for (std::size_t position = 0; states.size() > 0; ++position) {
    States next(end + 1);
    for (std::size_t i = 0; i < states.size(); ++i) {  // grows while it is walked
      const std::size_t state = states[i];
      if (state == end) return true;
      const Instruction& instruction = program_[state];
      const auto jump = [&](std::ptrdiff_t by) {
        states.add(static_cast<std::size_t>(static_cast<std::ptrdiff_t>(state) + by));
      };
      switch (instruction.kind) {
        case Instruction::Kind::kSplit:
          jump(instruction.first);
          jump(instruction.second);
          break;
        case Instruction::Kind::kBegin:
          if (position == 0) jump(1);
          break;
        case Instruction::Kind::kEnd:
          if (position == name.size()) jump(1);
          break;
        case Instruction::Kind::kCharacter:
          if (position < name.size() && instruction.characters[static_cast<unsigned char>(name[position])])
            next.add(state + 1);
          break;
      }
    }
    states = std::move(next);
  }
  return false;
}

}  // namespace shardplan
