#include "tools/commands/simulate.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/capacity.h"
#include "planner/deployment.h"
#include "planner/simulate.h"
#include "sim/metrics/series_file.h"
#include "tools/cli/flag_builders.h"
#include "tools/cli/output.h"
#include "tools/documents/simulate_page.h"
#include "tools/documents/streamed_file.h"
#include "tools/request/ask.h"
#include "tools/request/make_request.h"
#include "tools/request/plan_words.h"
#include "tools/request/make_simulation.h"
#include "tools/request/request_flags.h"
#include "tools/tables/simulate_table.h"

namespace shardplan {
namespace {

constexpr const char* kHelp =
    "One configuration under single requests: a recorded trace (--trace), a closed loop (--concurrency) or an open one\n"
    "(--request-rate), conversations too, step by step under an engine's scheduler. Times have distributions, bursts queue,\n"
    "a full cache preempts, replicas fail. --prefill-* and --decode-* split the phases over two pools; --find-rate looks for\n"
    "the rate that still meets the targets. A log with times of its own answers is compared with, request by request.\n"
    "An --output that ends in .html is a page with distributions. A configuration that is illegal or does not fit is an\n"
    "answer too.";

constexpr double kAttainment = 0.9;

// Files beside the answer; empty: not asked for.
struct SimulateFiles {
  std::string timeline, records, series;
};

void add_file_flags(FlagGroup& group, SimulateFiles& files) {
  group.flags.push_back(text_flag("--timeline", "FILE", "every step as a timeline that Perfetto opens (JSON)", files.timeline));
  group.flags.push_back(text_flag("--records", "FILE", "every request, one line each (CSV)", files.records));
  group.flags.push_back(text_flag("--series", "FILE", "queue, batch, cache and links over time (CSV)", files.series));
}

// To a file and to the answer, which keeps the first of them.
class KeepingSink : public RecordSink {
 public:
  KeepingSink(RecordSink* file, SimulateAnswer* answer) : file_(file), answer_(answer) {}
  void add(const RequestRecord& record) override {
    if (file_ != nullptr) file_->add(record);
    if (answer_ == nullptr) return;
    if (answer_->records.size() < kMostKept)
      answer_->records.push_back(record);
    else
      ++answer_->not_kept;
  }

 private:
  static constexpr std::size_t kMostKept = 1'000'000;
  RecordSink* file_;
  SimulateAnswer* answer_;
};

SimulationResult run(const SimulateAnswer& answer, const SimulationSettings& settings) {
  const EstimateAnswer& e = answer.estimate;
  if (!answer.decode) return simulate_config(e.request, e.config, answer.traffic, settings);
  return simulate_pools(e.request, {.prefill = e.config, .decode = answer.decode->config}, answer.traffic, settings);
}

// Runs it; the files appear when it has ended.
SimulationResult run_with_files(SimulateAnswer& answer, SimulationSettings settings, const SimulateFiles& files, bool keep) {
  std::optional<StreamedFile> timeline_file, records_file, series_file;
  std::optional<Timeline> timeline;
  std::optional<CsvRecords> records;
  if (!files.timeline.empty()) timeline.emplace(timeline_file.emplace(files.timeline).stream());
  if (!files.records.empty()) records.emplace(records_file.emplace(files.records).stream());
  if (!files.series.empty()) series_file.emplace(files.series);
  if (timeline) settings.timeline = &*timeline;
  KeepingSink sink(records ? &*records : nullptr, keep ? &answer : nullptr);
  if (records || keep) settings.records = &sink;
  const SimulationResult result = run(answer, settings);
  timeline.reset();   // closes the array
  if (series_file) write_series(result.series, series_file->stream());
  for (auto* file : {&timeline_file, &records_file, &series_file}) {
    if (*file) (*file)->finish();
  }
  return result;
}

// The configuration priced for requests that it can hold; longer ones are rejected one by one.
EstimateAnswer estimate_of(const PlanRequest& question, const ParallelConfig& config) {
  EstimateAnswer estimate;
  estimate.config = config;
  estimate.request = sized_request(question, config);
  estimate.request.gpus = config.gpus();
  estimate.result = ask_estimate(estimate.request, config, {});
  return estimate;
}

bool runs(const EstimateAnswer& pool) { return pool.result.lowered && pool.result.violations.empty() && pool.result.plan.ledger.fits; }

// The load that meets the targets, and the question at it.
void look_for_rate(SimulateAnswer& answer, const RequestFlags& flags, const SimulationSettings& settings) {
  EstimateAnswer& e = answer.estimate;
  const PoolConfigs pools{.prefill = e.config, .decode = answer.decode ? answer.decode->config : e.config};
  answer.capacity = find_capacity(e.request, e.config, answer.decode ? &pools : nullptr, answer.traffic, settings,
                                  flags.simulate.capacity.attainment.value_or(kAttainment));
  if (answer.capacity->requests_per_second == 0) return;
  e.request.workload.requests_per_second = answer.capacity->requests_per_second;
  e.result = ask_estimate(e.request, e.config, {});
}

// --max-model-len rejects longer requests one by one here; elsewhere it would contradict them.
PlanRequest question_of(RequestFlags& flags) {
  const auto longest = std::exchange(flags.engine.max_model_len, std::nullopt);
  PlanRequest question = make_request(flags);
  question.max_model_len = longest.value_or(0);
  return question;
}

// What a log says that its requests met.
std::vector<RecordedAnswer> answers_in(const SimulatedTraffic& traffic, const Workload& workload) {
  const bool replayed = !traffic.trace.empty() && !workload.concurrency && !workload.requests_per_second && traffic.trace_speed_ratio == 1;
  return replayed && is_request_log(traffic.trace) ? recorded_answers(traffic.trace) : std::vector<RecordedAnswer>{};
}

SimulateAnswer answer_of(RequestFlags& flags, const SimulateFiles& files, bool keep) {
  SimulateAnswer answer;
  answer.traffic = make_traffic(flags);
  const PlanRequest question = question_of(flags);
  const std::optional<PoolConfigs> pools = make_pools(flags, question.model);
  const ParallelConfig asked = pools ? pools->prefill : complete_config(flags.parallel, question.model, flags.machine.gpus.value_or(0));
  const ParallelConfig config = engine_of(question).settled(question.model, asked);
  const SimulationSettings settings = make_simulation_settings(flags, config, pools ? &pools->decode : nullptr);
  answer.estimate = estimate_of(question, config);
  if (pools) {
    answer.decode = estimate_of(answer.estimate.request, pools->decode);
    answer.estimate.request = answer.decode->request;   // what both can hold
  }
  if (!runs(answer.estimate) || (answer.decode && !runs(*answer.decode))) return answer;
  if (flags.simulate.capacity.find_rate) look_for_rate(answer, flags, settings);
  if (answer.capacity && answer.capacity->requests_per_second == 0) return answer;
  const std::vector<RecordedAnswer> answers = answers_in(answer.traffic, question.workload);
  answer.result = run_with_files(answer, settings, files, keep || !answers.empty());
  if (!answers.empty()) answer.recorded = paired_answers(answers, answer.records, times_of(answer.estimate.request).host.first_token);
  return answer;
}

}  // namespace

void run_simulate(const Words& words) {
  RequestFlags flags;
  Output output;
  SimulateFiles files;
  CommandLine line{"shardplan simulate", kHelp,
                   "shardplan simulate --model llama-3.1-70b --hardware h100-sxm --tp 8 --isl 1024 --osl 256 --length-ratio 0.8 --concurrency 64 --requests 1000",
                   request_flags(flags, true), {}};
  const std::vector<FlagGroup> own = simulate_flags(flags);
  line.groups.insert(line.groups.begin() + 2, own.begin(), own.end());
  line.groups.push_back(output_flags(output));
  add_file_flags(line.groups.back(), files);
  line.groups.insert(line.groups.begin(), plan_source_flags());
  if (!parse_command_line(line, with_plan(words))) return;
  check_output(output);
  check_output({.file = files.timeline});
  check_output({.file = files.records});
  check_output({.file = files.series});
  const SimulateAnswer answer = answer_of(flags, files, is_page(output));
  const auto text = [&] {
    const std::string table = simulate_table(answer, flags);
    return is_page(output) ? simulate_page(answer, table) : table;
  };
  deliver(output, text, [&] { return simulate_document(flags, answer); });
}

}  // namespace shardplan
