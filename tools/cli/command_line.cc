#include "tools/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "base/errors.h"
#include "base/suggest.h"
#include "tools/cli/standard_output.h"

namespace shardplan {
namespace {

constexpr std::size_t kHelpColumn = 34;
constexpr int kMostWords = 4096;  // taken as arguments, so that a word too many is counted and named

// A flag or argument, and the words that stood for it.
struct Taken {
  std::string name;
  const std::function<void(const std::string&)>* store;
  bool is_switch = false;
  bool required = false;
  std::vector<std::string> values{};
  CLI::Option* option = nullptr;
};

// CLI11 splits the words; values stay text until all of them are known to be well-formed.
class Parser {
 public:
  Parser(const CommandLine& line, bool help) : line_(line), app_(line.help, line.name) {
    for (const FlagGroup& group : line.groups) {
      for (const Flag& flag : group.flags) add(flag, group.title);
    }
    for (const Argument& argument : line.arguments) add(argument, help ? 1 : kMostWords);
    app_.allow_extras();
    app_.get_formatter()->column_width(kHelpColumn);
    app_.get_formatter()->label("OPTIONS", "flags");
    app_.footer("Example:\n  " + line.example);
  }

  [[nodiscard]] bool parse(const Words& words) {
    try {
      app_.parse(Words(words.rbegin(), words.rend()));  // CLI11 takes them last first
    } catch (const CLI::CallForHelp&) {
      write_standard_output(app_.help());
      return false;
    } catch (const CLI::ParseError& error) {
      refuse(error.what());
    }
    refuse_unknown();
    for (const auto& taken : taken_) store(*taken);
    return true;
  }

 private:
  void add(const Flag& flag, const std::string& title) {
    auto& taken = *taken_.emplace_back(std::make_unique<Taken>(Taken{flag.name, &flag.store, flag.value.empty()}));
    if (taken.is_switch) taken.option = app_.add_flag(flag.name, flag.help)->disable_flag_override();
    else taken.option = app_.add_option(flag.name, taken.values, flag.help)->expected(1)->type_name(flag.value);
    taken.option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->group(title)->allow_extra_args(false);
  }

  void add(const Argument& argument, int most_words) {
    auto& taken = *taken_.emplace_back(std::make_unique<Taken>(Taken{argument.name, &argument.store, false, argument.required}));
    taken.option = app_.add_option(argument.name, taken.values, argument.help)->expected(0, most_words)->type_name("");
  }

  void refuse_unknown() const {
    const Words extras = app_.remaining();
    if (extras.empty()) return;
    const auto flag = std::find_if(extras.begin(), extras.end(), [](const auto& word) { return word.starts_with("-"); });
    if (flag == extras.end()) refuse_word(extras.front());
    throw InputError(*flag, "unknown flag", known_flag(flag->substr(0, flag->find('='))));
  }

  // CLI11 says "--tp: 1 required N missing".
  [[noreturn]] void refuse(const std::string& text) const {
    const std::size_t colon = text.find(':');
    if (text.starts_with("--") && colon != std::string::npos) throw InputError(text.substr(0, colon), "needs one value", "a word after it");
    throw InputError(line_.name, text, "what " + line_.name + " --help lists");
  }

  [[noreturn]] void refuse_word(const std::string& word) const {
    throw InputError(line_.name, "\"" + word + "\" is one word too many", "what " + line_.name + " --help lists");
  }

  [[nodiscard]] std::string known_flag(const std::string& name) const {
    Words names;
    for (const auto& taken : taken_) {
      if (taken->name.starts_with("--")) names.push_back(taken->name);
    }
    const std::string nearest = nearest_name(name, names);
    return nearest.empty() ? "what " + line_.name + " --help lists" : nearest;
  }

  void store(const Taken& taken) const {
    const std::size_t given = taken.option->count();
    if (given == 0) {
      if (taken.required) throw InputError(taken.name, "is missing", "its name after the command");
      return;
    }
    if (given > 1 && !taken.name.starts_with("-")) refuse_word(taken.values[1]);
    if (given > 1) throw InputError(taken.name, "is given more than once", "it once");
    (*taken.store)(taken.is_switch ? "" : taken.values.front());
  }

  const CommandLine& line_;
  CLI::App app_;
  std::vector<std::unique_ptr<Taken>> taken_;
};

}  // namespace

bool parse_command_line(const CommandLine& line, const Words& words) {
  const bool help = std::any_of(words.begin(), words.end(), [](const auto& w) { return w == "--help" || w == "-h"; });
  Parser parser(line, help);
  return parser.parse(help ? Words{"--help"} : words);
}

}  // namespace shardplan
