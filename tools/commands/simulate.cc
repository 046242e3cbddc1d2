#include "tools/commands/simulate.h"

#include <optional>
#include <string>

#include "planner/simulate.h"
#include "tools/cli/flag_builders.h"
#include "tools/cli/output.h"
#include "tools/documents/simulate_document.h"
#include "tools/documents/streamed_file.h"
#include "tools/request/ask.h"
#include "tools/request/make_request.h"
#include "tools/request/request_flags.h"
#include "tools/tables/simulate_table.h"

namespace shardplan {
namespace {

constexpr const char* kHelp =
    "One configuration under single requests: a recorded trace (--trace), a closed loop (--concurrency) or an open one\n"
    "(--request-rate), step by step under an engine's scheduler. Times have distributions, bursts queue, a full cache\n"
    "preempts. A configuration that is illegal or does not fit is an answer too.";

// Files beside the answer; empty: not asked for.
struct SimulateFiles {
  std::string timeline, records;
};

void add_file_flags(FlagGroup& group, SimulateFiles& files) {
  group.flags.push_back(text_flag("--timeline", "FILE", "every step as a timeline that Perfetto opens (JSON)", files.timeline));
  group.flags.push_back(text_flag("--records", "FILE", "every request, one line each (CSV)", files.records));
}

// Runs it; the files appear when it has ended.
SimulationResult run_with_files(const SimulateAnswer& answer, const RequestFlags& flags, const SimulateFiles& files) {
  std::optional<StreamedFile> timeline_file, records_file;
  std::optional<Timeline> timeline;
  std::optional<CsvRecords> records;
  if (!files.timeline.empty()) timeline.emplace(timeline_file.emplace(files.timeline).stream());
  if (!files.records.empty()) records.emplace(records_file.emplace(files.records).stream());
  SimulationSettings settings;
  if (!flags.simulate.scheduler.empty()) settings.scheduler = flags.simulate.scheduler;
  if (!flags.simulate.router.empty()) settings.router = flags.simulate.router;
  if (timeline) settings.timeline = &*timeline;
  if (records) settings.records = &*records;
  const SimulationResult result = simulate_config(answer.estimate.request, answer.estimate.config, answer.traffic, settings);
  timeline.reset();   // closes the array
  if (timeline_file) timeline_file->finish();
  if (records_file) records_file->finish();
  return result;
}

SimulateAnswer answer_of(RequestFlags& flags, const SimulateFiles& files) {
  SimulateAnswer answer;
  answer.traffic = make_traffic(flags);
  EstimateAnswer& estimate = answer.estimate;
  estimate.request = make_request(flags);
  estimate.config = complete_config(flags.parallel, estimate.request.model, flags.machine.gpus.value_or(0));
  estimate.request.gpus = estimate.config.gpus();
  estimate.result = ask_estimate(estimate.request, estimate.config, {});
  const bool runs = estimate.result.lowered && estimate.result.violations.empty() && estimate.result.plan.ledger.fits;
  if (runs) answer.result = run_with_files(answer, flags, files);
  return answer;
}

}  // namespace

void run_simulate(const Words& words) {
  RequestFlags flags;
  Output output;
  SimulateFiles files;
  CommandLine line{"shardplan simulate", kHelp,
                   "shardplan simulate --model llama-3.1-70b --hardware h100-sxm --tp 8 --isl 1024 --osl 256 --length-ratio 0.8 --concurrency 64 --requests 1000",
                   request_flags(flags), {}};
  line.groups.insert(line.groups.begin() + 2, simulate_flags(flags));
  line.groups.push_back(output_flags(output));
  add_file_flags(line.groups.back(), files);
  if (!parse_command_line(line, words)) return;
  check_output(output);
  check_output({.file = files.timeline});
  check_output({.file = files.records});
  const SimulateAnswer answer = answer_of(flags, files);
  deliver(output, [&] { return simulate_table(answer, flags); }, [&] { return simulate_document(flags, answer); });
}

}  // namespace shardplan
