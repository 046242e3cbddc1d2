#include "tools/commands/calibrate/fit.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "tools/cli/flag_builders.h"
#include "tools/commands/calibrate/fit_records.h"
#include "tools/commands/calibrate/fit_serving.h"
#include "tools/commands/calibrate/fit_tables.h"

namespace shardplan {
namespace {

constexpr const char* kHelp =
    "Coefficients of what was measured, with whole shapes held out to judge them.\n"
    "RECORDS.jsonl, which calibrate run wrote, become the profile of a new machine: --output FILE.\n"
    "--tables are measurements of a machine that is known (--hardware): wide or long CSV with a .meta.json beside, .jsonl\n"
    "records, nccl-tests output, or folders of CSV; what physics forbids is left out and said. Of one library's releases the\n"
    "newest answers; where several libraries give the same row that of most samples is plain, the others carry @backend.\n"
    "With --into the rows go into a hardware document, which --hardware takes; an interrupted fit leaves the old one.\n"
    "--serving FILE fits engine times on serving points: calibrate fit --serving FILE --help.";

}  // namespace

void run_calibrate_fit(const Words& words) {
  if (std::find(words.begin(), words.end(), "--serving") != words.end()) return run_calibrate_fit_serving(words);
  std::string records, output, name = "this-host", sampler = "greedy", hardware, tables, into;
  CommandLine line{"shardplan calibrate fit", kHelp, "shardplan calibrate fit --hardware h200-sxm --tables nccl.txt,gemm.csv --into ours.json", {}, {}};
  line.arguments.push_back({"RECORDS.jsonl", "what calibrate run wrote", false, [&](const std::string& text) { records = text; }});
  line.groups.push_back({"A new machine",
                         {text_flag("--output", "FILE", "the profile, for --hardware FILE", output),
                          text_flag("--name", "NAME", "its name (default: this-host)", name),
                          text_flag("--sampler", "KIND", "what the price of sampling follows: greedy, or top_p, a draw from the likeliest tokens (default: greedy)", sampler)}});
  line.groups.push_back({"A known machine",
                         {text_flag("--hardware", "NAME", "the machine that was measured: a catalog name or a JSON file", hardware),
                          text_flag("--tables", "LIST", "files and folders of measurements, with commas between", tables),
                          text_flag("--into", "FILE", "the hardware document whose rows are replaced (none)", into)}});
  if (!parse_command_line(line, words)) return;
  if (records.empty()) {
    if (!output.empty()) throw InputError("RECORDS.jsonl", "is missing", "what calibrate run wrote; rows of --tables go --into a file");
    if (hardware.empty() && tables.empty()) throw InputError("calibrate fit", "is given no measurements", "RECORDS.jsonl, --tables or --serving");
    return fit_known_machine(hardware, tables, into);
  }
  for (const auto& [flag, value] : {std::pair{"--tables", tables}, {"--into", into}, {"--hardware", hardware}}) {
    if (!value.empty()) throw InputError(flag, "contradicts RECORDS.jsonl, which makes a machine of its own", "one of them");
  }
  fit_new_machine(records, output, name, sampler);
}

}  // namespace shardplan
