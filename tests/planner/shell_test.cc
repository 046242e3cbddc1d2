#include "planner/export/shell.h"

#include <rapidcheck.h>

#include <cstdio>

#include "tests/catch.h"

namespace shardplan {
namespace {

TEST_CASE("Plain words stay, others are quoted") {
  CHECK(shell_word("Qwen/Qwen3-8B") == "Qwen/Qwen3-8B");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("a b") == "'a b'");
  CHECK(shell_word("$(rm -rf x)") == "'$(rm -rf x)'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("~/model") == "'~/model'");
}

// What bash prints for the quoted word.
std::string through_bash(const std::string& word) {
  const std::string command = "bash -c " + shell_word("printf %s " + shell_word(word));
  std::FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string out;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) out += static_cast<char>(c);
  REQUIRE(pclose(pipe) == 0);
  return out;
}

TEST_CASE("bash reads every word back as it was") {
  for (const std::string word :
       {"a b", "it's", "\"$HOME\"", "`x`", "a\\b", "!!", "*?[a]", "two\nlines", "-n", "#c", ";|&<>()"}) {
    CHECK(through_bash(word) == word);
  }
}

TEST_CASE("A comment never leaves its line") { CHECK(shell_comment("a\nrm x\r\t") == "a rm x  "); }

TEST_CASE("A command is one line or many, with the same words") {
  ShellCommand command({"vllm", "serve", "my model"});
  command.flag("--x").option("--n", 3).raw_option("--port", "\"$PORT\"");
  CHECK(command.one_line() == "vllm serve 'my model' --x --n 3 --port \"$PORT\"");
  CHECK(command.lines("\"${TAIL[@]}\"") ==
        "vllm serve 'my model' \\\n  --x \\\n  --n 3 \\\n  --port \"$PORT\" \\\n  \"${TAIL[@]}\"");
}

}  // namespace
}  // namespace shardplan
