#include "planner/export/read_script.h"

#include <algorithm>

#include "base/errors.h"

namespace shardplan {
namespace {

// Lines with `\` at their end joined to the next.
std::vector<std::string> logical_lines(std::string_view text) {
  std::vector<std::string> lines;
  bool continues = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string line(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const bool more = !line.empty() && line.back() == '\\';
    if (more) line.pop_back();
    if (continues)
      lines.back() += line;
    else
      lines.push_back(std::move(line));
    continues = more;
  }
  return lines;
}

std::string_view without_blanks(std::string_view line) {
  const std::size_t start = line.find_first_not_of(" \t");
  return start == std::string_view::npos ? std::string_view() : line.substr(start);
}

class Splitter {
 public:
  explicit Splitter(std::string_view line) : rest_(line) {}

  std::vector<ScriptWord> words() {
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (depth_ == 0 && (c == ' ' || c == '\t'))
        end_word();
      else if (depth_ == 0 && c == '#' && !open_)
        break;
      else
        take(c);
      rest_.remove_prefix(std::min<std::size_t>(1, rest_.size()));
    }
    if (depth_ != 0) throw InputError("script", "an expression is left open", "a closing parenthesis");
    end_word();
    return std::move(words_);
  }

 private:
  void take(char c) {
    open_ = true;
    if (c == '\'' && depth_ == 0) return quoted('\'');
    if (c == '"' && depth_ == 0) return quoted('"');
    if (c == '\\' && depth_ == 0 && rest_.size() > 1) {
      rest_.remove_prefix(1);
      word_.text += rest_.front();
      return;
    }
    if (c == '$') word_.is_expression = true;
    if (c == '(' && (depth_ > 0 || word_.is_expression)) ++depth_;
    if (c == ')' && depth_ > 0) --depth_;
    word_.text += c;
  }

  void quoted(char mark) {
    rest_.remove_prefix(1);
    while (!rest_.empty() && rest_.front() != mark) {
      if (mark == '"' && rest_.front() == '\\' && rest_.size() > 1)
        rest_.remove_prefix(1);
      else if (mark == '"' && rest_.front() == '$')
        word_.is_expression = true;
      word_.text += rest_.front();
      rest_.remove_prefix(1);
    }
    if (rest_.empty()) throw InputError("script", "a quote is left open", std::string("a closing ") + mark);
  }

  void end_word() {
    if (open_) words_.push_back(std::move(word_));
    word_ = {};
    open_ = false;
  }

  std::string_view rest_;
  std::vector<ScriptWord> words_;
  ScriptWord word_;
  bool open_ = false;
  int depth_ = 0;
};

void read_export(const std::vector<ScriptWord>& words, Arguments& out) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].text.find('=');
    if (equals == std::string::npos) continue;  // exported by name: set by the script itself
    const std::string name = words[i].text.substr(0, equals);
    const std::string value = words[i].text.substr(equals + 1);
    if (words[i].is_expression)
      out.compute(name, value);
    else
      out.set(name, value);
  }
}

bool is_flag(const ScriptWord& word) { return word.text.starts_with("--"); }

void read_flags(const std::vector<ScriptWord>& words, std::size_t at, ReadScript& out) {
  while (at < words.size()) {
    const ScriptWord& word = words[at++];
    if (!is_flag(word)) {
      if (word.text != "${WORKER[@]}") out.faults.push_back("'" + word.text + "' is no flag");
      continue;
    }
    const std::size_t equals = word.text.find('=');
    const bool has_next = at < words.size() && !is_flag(words[at]) && words[at].text != "${WORKER[@]}";
    if (equals != std::string::npos)
      out.command.set(word.text.substr(0, equals), word.text.substr(equals + 1));
    else if (!has_next)
      out.command.turn_on(word.text);
    else if (words[at].is_expression)
      out.command.compute(word.text, words[at++].text);
    else
      out.command.set(word.text, words[at++].text);
  }
}

}  // namespace

std::vector<ScriptWord> split_words(std::string_view line) { return Splitter(line).words(); }

ReadScript read_script(std::string_view text, const std::string& program, const std::string& file) {
  ReadScript out;
  bool found = false;
  for (const std::string& line : logical_lines(text)) {
    const std::string_view start = without_blanks(line);
    if (start.starts_with("export ")) read_export(split_words(start), out.environment);
    if (!start.starts_with("exec ")) continue;
    const std::vector<ScriptWord> words = split_words(start);
    auto word = std::find_if(words.begin(), words.end(), [&program](const ScriptWord& w) { return w.text == program; });
    if (word == words.end()) continue;
    found = true;
    for (; word != words.end() && !is_flag(*word); ++word) out.program.push_back(word->text);
    read_flags(words, static_cast<std::size_t>(word - words.begin()), out);
  }
  if (!found) throw InputError(file, "holds no exec of " + program, "a launch script of this engine");
  return out;
}

}  // namespace shardplan
