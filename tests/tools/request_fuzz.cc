// Any words, one a line, are a question to the planner and the simulator or an InputError; so are the words that any
// bytes give when they are read as a plan document.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/errors.h"
#include "tests/fuzz/memory_file.h"
#include "tools/documents/request_document.h"
#include "tools/request/make_request.h"
#include "tools/request/make_simulation.h"
#include "tools/request/request_flags.h"

namespace {

using namespace shardplan;

// Not --help: that prints. Not files of the machine: what they hold is other readers' matter.
bool is_left_out(const std::string& word) {
  return word == "-h" || word.starts_with("--help") || word.find('/') != std::string::npos;
}

void ask(const Words& words, bool simulates) {
  for (const std::string& word : words) {
    if (is_left_out(word)) return;
  }
  RequestFlags flags;
  CommandLine line{"shardplan fuzz", "", "", request_flags(flags, simulates), {}};
  if (!simulates) {
    line.groups.push_back(step_flags(flags));
    line.groups.push_back(search_flags(flags));
  }
  try {
    if (!parse_command_line(line, words)) return;
    if (simulates) (void)make_traffic(flags);
    const PlanRequest request = make_request(flags);
    if (!simulates) (void)make_bare_steps(flags);
    const ParallelConfig config = complete_config(flags.parallel, request.model, flags.machine.gpus.value_or(0));
    if (!simulates) return;
    const auto pools = make_pools(flags, request.model);
    (void)make_simulation_settings(flags, pools ? pools->prefill : config, pools ? &pools->decode : nullptr);
  } catch (const InputError&) {  // the expected refusal
  }
}

Words lines_of(std::string_view text) {
  Words words;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return words;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Words words = lines_of(text);
  ask(words, false);
  ask(words, true);
  const MemoryFile file(text);
  try {
    words = read_request_words(file.path());
  } catch (const InputError&) {
    return 0;
  }
  ask(words, false);
  return 0;
}
