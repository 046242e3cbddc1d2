// Reads back a launch script of ours: exported variables and the command that it ends in.
//
// The subset of bash that our scripts use: assignments, `export NAME=word`, one `exec` with continued lines, single and
// double quotes, $-expressions kept as they stand. Words before the engine's program (mpirun ..) are skipped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/export/arguments.h"

namespace shardplan {

struct ScriptWord {
  std::string text;
  bool is_expression = false;  // holds $...
};

// InputError for an open quote.
[[nodiscard]] std::vector<ScriptWord> split_words(std::string_view line);

struct ReadScript {
  Arguments environment;
  Arguments command;
  std::vector<std::string> program;  // words between the launcher and the first flag
  std::vector<std::string> faults;   // words that are no arguments
};
// `program` is the engine's first word ("vllm", "trtllm-serve", "python3"). InputError without an exec of it.
[[nodiscard]] ReadScript read_script(std::string_view text, const std::string& program, const std::string& file);

}  // namespace shardplan
