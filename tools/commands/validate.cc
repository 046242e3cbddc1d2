#include "tools/commands/validate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "calibrate/fit/measurement_files.h"
#include "planner/measured/kernel_points.h"
#include "planner/measured/measured_file.h"
#include "planner/measured/published_points.h"
#include "planner/measured/report.h"
#include "planner/measured/static_batches.h"
#include "tools/cli/flag_builders.h"
#include "tools/cli/output.h"
#include "tools/cli/values.h"
#include "tools/documents/accuracy_page.h"
#include "tools/documents/point_document.h"
#include "tools/documents/validate_document.h"
#include "tools/documents/validate_page.h"
#include "tools/request/engine_times_file.h"
#include "tools/tables/point_table.h"
#include "tools/tables/validate_table.h"

namespace shardplan {
namespace {

constexpr std::size_t kWorst = 10;

constexpr const char* kHelp =
    "Predictions against measurements: error statistics overall and by group, how often the interval holds the\n"
    "measurement, the worst rows with their breakdown. What a file holds is told from its head: serving points (with\n"
    "another planner's predictions beside, peer_*), kernel tables (.csv with its .meta.json beside, or a folder of "
    "them),\n"
    "records (.jsonl), nccl-tests output. Several files, with commas between, are judged one after the other; kernel\n"
    "tables together. A malformed table is refused whole, with file, line and column. An --output that ends in .html "
    "is a\n"
    "page with scatter plots, one that ends in .md what docs/accuracy.md holds.";

struct ValidateFlags {
  std::string measured, method, times, overlay, hardware;
  ValidateOptions options;
  Output output;
  EngineTimesTable own;
};

// What was measured, by kind: serving tables one by one, kernels together.
struct Reports {
  std::vector<ValidateReport> serving;
  std::vector<PointReport> points;
};

void take_engine_times(ValidateFlags& flags) {
  if (flags.times.empty() && flags.overlay.empty()) return;
  flags.own = engine_times_of(flags.times);
  if (!flags.overlay.empty()) flags.own = overlaid_times(flags.own, flags.overlay);
  flags.options.times = &flags.own;
}

const EngineTimesTable& times_of(const ValidateOptions& options) {
  return options.times != nullptr ? *options.times : shipped_engine_times();
}

// What --measured names, before anything is judged. Kernel tables make one report together, every other file its own.
std::vector<MeasuredFile> files_of(const ValidateFlags& flags) {
  std::vector<MeasuredFile> files;
  for (const std::string& path : split_list(flags.measured)) {
    if (path.empty()) throw InputError("--measured", "names no file between two commas", "names with single commas between");
    files.push_back(read_measured(path));
  }
  const auto kernels = std::count_if(files.begin(), files.end(),
                                     [](const MeasuredFile& file) { return file.kind == MeasuredKind::kKernels; });
  const auto reports = std::ssize(files) - kernels + (kernels > 0 ? 1 : 0);
  if (flags.output.json && reports > 1) {
    throw InputError("--measured", fmt::format("makes {} reports, and a JSON document holds one", reports),
                     "one file, or kernel tables alone");
  }
  return files;
}

Reports judge(const std::vector<MeasuredFile>& files, const ValidateFlags& flags) {
  Reports reports;
  std::vector<MeasuredTable> kernels;
  const EngineTimesTable& times = times_of(flags.options);
  for (const MeasuredFile& file : files) {
    switch (file.kind) {
      case MeasuredKind::kServing:
        reports.serving.push_back(validate_serving(file.table(), flags.options));
        break;
      case MeasuredKind::kPublished:
        reports.points.push_back(validate_published(file.table(), times, kWorst));
        break;
      case MeasuredKind::kStaticBatches:
        reports.points.push_back(validate_static_batches(file.table(), times, flags.options.folds, kWorst));
        break;
      case MeasuredKind::kKernels:
        for (MeasuredTable& table : read_measurements(file.path)) kernels.push_back(std::move(table));
        break;
    }
  }
  if (!kernels.empty()) reports.points.push_back(validate_kernels(kernels, flags.hardware, kWorst));
  return reports;
}

std::string text_of(const Reports& reports, const std::string& file) {
  if (file.ends_with(".md")) return accuracy_page(reports.serving, reports.points);
  if (file.ends_with(".html")) return validate_page(reports.serving, reports.points);
  std::string out;
  for (const ValidateReport& r : reports.serving) out += (out.empty() ? "" : "\n") + validate_table(r);
  for (const PointReport& r : reports.points) out += (out.empty() ? "" : "\n") + point_table(r);
  return out;
}

}  // namespace

void run_validate(const Words& words) {
  ValidateFlags flags;
  CommandLine line{"shardplan validate", kHelp, "shardplan validate --measured serving.csv --quality A", {}, {}};
  line.groups.push_back(
      {"Measurements",
       {text_flag("--measured", "LIST", "files and folders of measurements, with commas between", flags.measured),
        text_flag("--hardware", "NAME", "the machine that was measured, where a kernel table does not say",
                  flags.hardware),
        text_flag("--quality", "LIST", "serving points of these qualities, as \"A,B\" (all)", flags.options.qualities),
        text_flag("--engine-times", "FILE", "engine times in place of the shipped ones", flags.times),
        text_flag("--overlay", "FILE", "engine times of your own points, added to them", flags.overlay),
        switch_flag("--folds", "also fits that leave rows, groups, models or machines out", flags.options.folds),
        choice_flag<std::string>("--method", "how serving points are predicted (analytic)", flags.method,
                                 {{"analytic", "analytic"}, {"simulate", "simulate"}})}});
  line.groups.push_back(output_flags(flags.output));
  if (!parse_command_line(line, words)) return;
  if (split_list(flags.measured).empty()) throw InputError("--measured", "is missing", "a file of measured points");
  check_output(flags.output);
  flags.options.simulate = flags.method == "simulate";
  take_engine_times(flags);
  const Reports reports = judge(files_of(flags), flags);
  deliver(
      flags.output, [&] { return text_of(reports, flags.output.file); },
      [&] {
        return reports.serving.empty() ? point_document(reports.points.front())
                                       : validate_document(reports.serving.front());
      });
}

}  // namespace shardplan
