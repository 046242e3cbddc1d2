#include "tools/commands/engines.h"

#include <string>
#include <vector>

#include "planner/engine.h"
#include "tools/cli/output.h"
#include "tools/documents/engines_document.h"
#include "tools/tables/engines_table.h"

namespace shardplan {

void run_engines(const Words& words) {
  std::string name;
  Output output;
  const CommandLine line{"shardplan engines",
                         "Lists the engines that --engine knows, or the rules of one that a plan must keep to be legal for it.",
                         "shardplan engines vllm",
                         {output_flags(output)},
                         {{"NAME", "the engine to show; all when left out", false, [&name](const std::string& text) { name = text; }}}};
  if (!parse_command_line(line, words)) return;
  check_output(output);
  const bool one = !name.empty();
  const std::vector<Engine> shown = one ? std::vector<Engine>{require_engine(name)} : engines();
  deliver(output, [&] { return one ? rules_table(shown.front()) : engines_table(shown); }, [&] { return engines_document(shown); });
}

}  // namespace shardplan
