#include "tools/commands/validate.h"

#include "base/errors.h"
#include "base/file.h"
#include "planner/measured/report.h"
#include "tools/cli/flag_builders.h"
#include "tools/cli/output.h"
#include "tools/documents/accuracy_page.h"
#include "tools/documents/validate_document.h"
#include "tools/documents/validate_page.h"
#include "tools/tables/validate_table.h"

namespace shardplan {
namespace {

constexpr std::int64_t kMostBytes = 256LL << 20;

constexpr const char* kHelp =
    "Predictions against a table of measured serving points: error statistics overall and by group, how often the "
    "interval\n"
    "holds the measurement, the worst rows with their breakdown, and another planner's predictions side by side "
    "(peer_*).\n"
    "A malformed table is refused whole, with file, line and column. An --output that ends in .html is a page with scatter\n"
    "plots, one that ends in .md what docs/accuracy.md holds.";

}  // namespace

void run_validate(const Words& words) {
  std::string measured, method, times, overlay;
  ValidateOptions options;
  Output output;
  CommandLine line{"shardplan validate", kHelp, "shardplan validate --measured serving.csv --quality A", {}, {}};
  line.groups.push_back(
      {"Measurements",
       {text_flag("--measured", "FILE", "a CSV of measured serving points", measured),
        text_flag("--quality", "LIST", "rows of these qualities, as \"A,B\" (all)", options.qualities),
        text_flag("--engine-times", "FILE", "engine times in place of the shipped ones", times),
        text_flag("--overlay", "FILE", "engine times of your own points, added to them", overlay),
        switch_flag("--folds", "also fits that leave rows, groups, models or machines out", options.folds),
        choice_flag<std::string>("--method", "how rows are predicted (analytic)", method,
                                 {{"analytic", "analytic"}, {"simulate", "simulate"}})}});
  line.groups.push_back(output_flags(output));
  if (!parse_command_line(line, words)) return;
  if (measured.empty()) throw InputError("--measured", "is missing", "a CSV file of measured points");
  check_output(output);
  options.simulate = method == "simulate";
  const CsvTable table(measured, read_file(measured, kMostBytes));
  EngineTimesTable own;
  if (!times.empty()) {
    own = read_engine_times(read_file(times, kMostBytes), times);
    options.times = &own;
  }
  if (!overlay.empty()) {
    const EngineTimesTable more = read_engine_times(read_file(overlay, kMostBytes), overlay);
    own = with_overlay(times.empty() ? shipped_engine_times() : own, more);
    options.times = &own;
  }
  const ValidateReport report = validate_serving(table, options);
  const auto text = [&] {
    if (output.file.ends_with(".html")) return validate_page(report);
    return output.file.ends_with(".md") ? accuracy_page(report) : validate_table(report);
  };
  deliver(output, text, [&] { return validate_document(report); });
}

}  // namespace shardplan
