#include "tools/cli/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "base/errors.h"
#include "tools/cli/standard_output.h"
#include "tools/commands/registry.h"

namespace shardplan {
namespace {

std::string overview() {
  std::string text =
      "shardplan plans the serving of large language models on many GPUs.\n\n"
      "Usage: shardplan COMMAND [flags]\n\nCommands:\n";
  for (const Command& command : commands()) text += fmt::format("  {:<10} {}\n", command.name, command.help);
  text +=
      "\nFlags:\n  --help     this text; after a command, its flags and an example\n  --version  the program's version\n\n"
      "Example:\n  shardplan plan --model qwen3-235b-a22b --hardware h200-sxm --gpus 16 --isl 4096 --osl 512 --tpot-ms 40\n";
  return text;
}

void run(const Words& words) {
  if (words.empty() || words.front() == "--help" || words.front() == "-h" || words.front() == "help") {
    write_standard_output(overview());
  } else if (words.front() == "--version") {
    write_standard_output(fmt::format("shardplan {}\n", program_version()));
  } else {
    require_command(words.front()).run(Words(words.begin() + 1, words.end()));
  }
}

// One line, whatever a file or a flag held.
int fail(const char* kind, std::string message, int status) {
  std::replace_if(message.begin(), message.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
  fmt::print(stderr, "shardplan: {}{}\n", kind, message);
  return status;
}

}  // namespace

const char* program_version() { return SHARDPLAN_VERSION; }

int run_program(const Words& words) {
  try {
    run(words);
    return kExitOk;
  } catch (const NotAsExpected& error) {
    return fail("", error.what(), kExitNotAsExpected);
  } catch (const InputError& error) {
    return fail("", error.what(), kExitBadInput);
  } catch (const EnvironmentError& error) {
    return fail("", error.what(), kExitEnvironment);
  } catch (const std::bad_alloc&) {
    return fail("", "out of memory", kExitEnvironment);
  } catch (const std::exception& error) {
    return fail("a fault of the program: ", error.what(), kExitInternal);
  }
}

}  // namespace shardplan
