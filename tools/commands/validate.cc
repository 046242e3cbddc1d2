#include "tools/commands/validate.h"

#include <memory>
#include <optional>

#include "base/errors.h"
#include "base/file.h"
#include "calibrate/fit/measurement_files.h"
#include "planner/measured/kernel_points.h"
#include "planner/measured/measured_kind.h"
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
#include "tools/tables/point_table.h"
#include "tools/tables/validate_table.h"

namespace shardplan {
namespace {

constexpr std::int64_t kMostBytes = 256LL << 20;
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
  if (!flags.times.empty()) {
    flags.own = read_engine_times(read_file(flags.times, kMostBytes), flags.times);
    flags.options.times = &flags.own;
  }
  if (flags.overlay.empty()) return;
  const EngineTimesTable more = read_engine_times(read_file(flags.overlay, kMostBytes), flags.overlay);
  flags.own = with_overlay(flags.times.empty() ? shipped_engine_times() : flags.own, more);
  flags.options.times = &flags.own;
}

const EngineTimesTable& times_of(const ValidateOptions& options) {
  return options.times != nullptr ? *options.times : shipped_engine_times();
}

Reports judge(const ValidateFlags& flags) {
  Reports reports;
  std::vector<MeasuredTable> kernels;
  for (const std::string& path : split_list(flags.measured)) {
    switch (measured_kind(path)) {
      case MeasuredKind::kServing:
        reports.serving.push_back(validate_serving(CsvTable(path, read_file(path, kMostBytes)), flags.options));
        break;
      case MeasuredKind::kPublished:
        reports.points.push_back(
            validate_published(CsvTable(path, read_file(path, kMostBytes)), times_of(flags.options), kWorst));
        break;
      case MeasuredKind::kStaticBatches:
        reports.points.push_back(validate_static_batches(CsvTable(path, read_file(path, kMostBytes)),
                                                         times_of(flags.options), flags.options.folds, kWorst));
        break;
      case MeasuredKind::kKernels:
        for (MeasuredTable& table : read_measurements(path)) kernels.push_back(std::move(table));
        break;
    }
  }
  if (!kernels.empty()) reports.points.push_back(validate_kernels(kernels, flags.hardware, kWorst));
  return reports;
}

std::string text_of(const Reports& reports, const std::string& file) {
  if (file.ends_with(".md")) return accuracy_page(reports.serving, reports.points);
  const bool page = file.ends_with(".html");
  std::string out;
  for (const ValidateReport& r : reports.serving) out += page ? validate_page(r) : validate_table(r);
  for (const PointReport& r : reports.points) out += page ? point_page(r) : point_table(r);
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
  const Reports reports = judge(flags);
  if (flags.output.json && reports.serving.size() + reports.points.size() > 1) {
    throw InputError("--measured", "holds measurements of several kinds", "files of one kind for a JSON document");
  }
  deliver(
      flags.output, [&] { return text_of(reports, flags.output.file); },
      [&] {
        return reports.serving.empty() ? point_document(reports.points.front())
                                       : validate_document(reports.serving.front());
      });
}

}  // namespace shardplan
