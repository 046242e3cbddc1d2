#include "tools/commands/calibrate/run.h"

#include <fmt/format.h>

#include <optional>

#include "base/errors.h"
#include "base/progress.h"
#include "calibrate/records/record_writer.h"
#include "calibrate/run/host_device.h"
#include "calibrate/run/node_timer.h"
#include "tools/cli/flag_builders.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/standard_output.h"
#include "tools/cli/values.h"
#include "tools/commands/calibrate/backend.h"
#include "tools/commands/calibrate/step_flags.h"

namespace shardplan {
namespace {

constexpr const char* kHelp =
    "Measures what the asked models' steps consist of at the asked degrees: every product, attention, grouped product and\n"
    "message that their step graphs contain, each shape once. Results are appended to a file of one JSON object per line as\n"
    "they come; the same command goes on where an earlier one stopped. `calibrate fit` makes a profile of them.";

struct RunFlags {
  BackendFlags backend;
  StepSetFlags steps;
  std::string records;
  std::string expert_loads = "uniform,zipf:0.8";
  std::optional<double> seconds;
  std::optional<std::int64_t> rounds;
};

struct RunCounts {
  std::int64_t measured = 0;
  std::int64_t known = 0;
  std::int64_t beyond = 0;   // not measured by the backend
};

Record record_of(const NodeCase& c, const NodeTiming& timing, const std::string& device) {
  if (!timing.is_correct) throw InternalError(c.key() + ": what was computed is wrong, not finite, or another number in a second run");
  return {.kind = c.kind, .format = c.format, .op = c.op, .shape = c.shape, .ranks = c.ranks, .flops = c.flops, .bytes = c.bytes,
          .microseconds = timing.seconds.median * 1e6, .spread = timing.seconds.spread(), .samples = static_cast<std::int64_t>(timing.samples), .device = device, .clock_mhz = timing.clock_mhz, .note = timing.note, .library = timing.library};
}

// None of what a device does not measure.
std::vector<NodeTiming> measured(const NodeCase& c, const CalibrationBackend& backend, const NodeTimerOptions& options) {
  if (backend.device == nullptr) return {time_node(c, options)};
  std::vector<NodeTiming> timings;
  for (const DeviceTiming& timing : backend.device->time(c, options.rule)) {
    timings.push_back({timing.seconds, timing.samples, timing.clock_mhz, timing.is_correct, timing.note, timing.library});
  }
  return timings;
}

RunCounts measure_all(const RunFlags& flags, const CalibrationBackend& backend) {
  RunPlan plan = make_run_plan(flags.steps);
  plan.loads.clear();
  for (const std::string& load : split_list(flags.expert_loads)) plan.loads.push_back(parse_expert_load(load));
  if (plan.loads.empty()) throw InputError("--expert-load", "names no load", "uniform, zipf:A or a JSON file of counts, with commas between");
  check_degrees(flags.steps, plan, backend.device == nullptr ? std::optional(backend.ranks) : std::nullopt);
  const auto cases = node_cases(plan);
  RecordHeader header = backend.device != nullptr ? backend.device->header() : host_header();
  header.program = program_version();
  RecordWriter writer(backend.first ? flags.records : "/dev/null", header);
  const NodeTimerOptions options{.rule = {.most_seconds = flags.seconds.value_or(0.5)}, .cache_bytes = header.last_level_cache_bytes,
                                 .transport = backend.transport, .timeout = backend.timeout};
  Progress progress("run", static_cast<std::int64_t>(cases.size()) * flags.rounds.value_or(1));
  RunCounts counts;
  for (int round = 1; round <= flags.rounds.value_or(1); ++round) {   // one after the other, so that a shape's rounds lie apart in time
    for (const NodeCase& c : cases) {
      if (writer.rounds(c.key()) >= round) ++counts.known;
      else {
        const auto timings = measured(c, backend, options);
        std::vector<Record> records;
        for (const NodeTiming& timing : timings) records.push_back(record_of(c, timing, header.device));
        writer.append(records);
        counts.measured += timings.empty() ? 0 : 1;
        counts.beyond += timings.empty() && round == 1 ? 1 : 0;
      }
      progress.advance();
    }
  }
  return counts;
}

}  // namespace

void run_calibrate_run(const Words& words) {
  RunFlags flags{.backend = {.ranks_otherwise = 2, .timeout_otherwise = 20'000}};
  CommandLine line{"shardplan calibrate run", kHelp,
                   "shardplan calibrate run --backend host --ranks 2 --model dense --tp 1,2 --records records.jsonl",
                   {backend_flags(flags.backend), step_set_flags(flags.steps)}, {}};
  line.groups.push_back({"Records",
                         {text_flag("--expert-load", "LIST", "how tokens spread over experts: uniform, zipf:A, a JSON file of counts (default: uniform,zipf:0.8)", flags.expert_loads),
                          text_flag("--records", "FILE", "where results are appended (required)", flags.records),
                          count_flag("--rounds", "times that each shape is measured, its best round counts (default: 1)", flags.rounds, {1, 100}),
                          number_flag("--seconds", "S", "most time for one shape (default: 0.5)", flags.seconds, {0, 60})}});
  if (!parse_command_line(line, words)) return;
  if (flags.records.empty()) throw InputError("--records", "is missing", "a file name");
  check_output({.file = flags.records});
  const CalibrationBackend backend = open_backend(flags.backend);
  if (backend.transport != nullptr && backend.transport->several_processes()) throw InputError("calibrate run", "was started by a launcher", "one process: its ranks are threads of the host backend");
  const RunCounts counts = measure_all(flags, backend);
  const std::string remark = backend.device != nullptr ? backend.device->remark() : "";
  if (!remark.empty()) write_standard_output(remark + "\n");
  write_standard_output(fmt::format("{} shapes measured, {} were there{}: {}\n", counts.measured, counts.known,
                                    counts.beyond > 0 ? fmt::format(", {} are not measured on {}", counts.beyond, backend.name) : "", flags.records));
}

}  // namespace shardplan
