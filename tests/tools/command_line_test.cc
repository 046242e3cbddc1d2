// Words against flags: what is stored, and what is refused in one line.
#include "tools/cli/command_line.h"

#include "tests/base/message_of.h"
#include "tests/catch.h"
#include "tools/cli/flag_builders.h"

namespace shardplan {
namespace {

struct Values {
  std::optional<std::int64_t> tp;
  std::string model;
  bool helix = false;
  std::string file;
};

void parse(const Words& words, Values& values) {
  const CommandLine line{"shardplan test", "", "",
                         {{"Layout", {count_flag("--tp", "", values.tp, {1, 8}), switch_flag("--helix", "", values.helix),
                                      text_flag("--model", "NAME", "", values.model)}}},
                         {{"FILE", "", true, [&values](const std::string& text) { values.file = text; }}}};
  if (!parse_command_line(line, words)) FAIL("help was asked for");
}

std::string refusal(const Words& words) {
  Values values;
  return message_of([&] { parse(words, values); });
}

}  // namespace

TEST_CASE("Flags and arguments come in any order, with a blank or = before the value") {
  Values values;
  parse({"--helix", "plan.json", "--tp=4", "--model", "a b"}, values);
  CHECK(values.tp == 4);
  CHECK(values.helix);
  CHECK(values.model == "a b");
  CHECK(values.file == "plan.json");
}

TEST_CASE("An unknown flag names the nearest one") {
  CHECK(refusal({"plan.json", "--modle", "x"}) == "--modle: unknown flag; expected --model");
  CHECK_THAT(refusal({"plan.json", "--zzzzzzzzzzz"}), contains_text("expected what shardplan test --help lists"));
}

TEST_CASE("A missing value, a missing argument, a word too many, and a flag given twice are refused") {
  CHECK(refusal({"plan.json", "--tp"}) == "--tp: needs one value; expected a word after it");
  CHECK_THAT(refusal({"--tp", "4"}), contains_text("FILE: is missing"));
  CHECK_THAT(refusal({"plan.json", "more"}), contains_text("\"more\" is one word too many"));
  CHECK_THAT(refusal({"plan.json", "--helix=maybe"}), contains_text("shardplan test: "));
  CHECK_THAT(refusal({"plan.json", "--tp", "4", "--tp", "8"}), contains_text("--tp: is given more than once"));
  CHECK_THAT(refusal({"plan.json", "--helix", "--helix"}), contains_text("--helix: is given more than once"));
}

TEST_CASE("A negative number is a value, not a flag") {
  CHECK_THAT(refusal({"plan.json", "--tp", "-4"}), contains_text("--tp: \"-4\" is out of range"));
}

}  // namespace shardplan
