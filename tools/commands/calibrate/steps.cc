#include "tools/commands/calibrate/steps.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/table.h"
#include "calibrate/run/host_device.h"
#include "calibrate/run/step_timer.h"
#include "costmodel/lowering/registry.h"
#include "tools/cli/flag_builders.h"
#include "tools/cli/output.h"
#include "tools/commands/calibrate/backend.h"
#include "tools/commands/calibrate/step_flags.h"
#include "tools/documents/document.h"

namespace shardplan {
namespace {

constexpr const char* kHelp =
    "Runs whole steps of the asked models on this machine's ranks and holds their time against the price under a profile,\n"
    "such as calibrate fit makes of this machine. Says the mean error for each degree.";

using Align = Table::Align;

struct StepRow {
  std::string model;
  StepTiming timing;
};

double mean_error(const std::vector<StepRow>& rows, std::int64_t tp) {
  double sum = 0;
  int count = 0;
  for (const StepRow& row : rows) {
    if (row.timing.config.tp != tp) continue;
    sum += std::abs(row.timing.error_ratio());
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

std::string steps_table(const std::vector<StepRow>& rows, const std::vector<std::int64_t>& degrees) {
  Table table({{"model", Align::kLeft}, {"tp"}, {"decode"}, {"context"}, {"prefill"}, {"measured ms"}, {"spread"}, {"priced ms"}, {"error"}});
  for (const auto& [model, t] : rows) {
    table.add_row({model, std::to_string(t.config.tp), std::to_string(t.shape.decode_sequences), fmt::format("{:.0f}", t.shape.decode_context),
                   std::to_string(t.shape.prefill_tokens), fmt::format("{:.3f}", t.measured.median * 1e3), fmt::format("{:.0f} %", t.measured.spread() * 100),
                   fmt::format("{:.3f}", t.predicted * 1e3), fmt::format("{:+.1f} %", t.error_ratio() * 100)});
  }
  std::string text = table.text();
  for (const std::int64_t tp : degrees) text += fmt::format("tp {}: mean error {:.1f} %\n", tp, mean_error(rows, tp) * 100);
  return text;
}

std::string steps_document(const std::vector<StepRow>& rows, const std::vector<std::int64_t>& degrees) {
  Document document = {{"schema", "shardplan.calibrate-steps/1"}};
  document["steps"] = Document::array();
  for (const auto& [model, t] : rows) {
    document["steps"].push_back({{"model", model}, {"tp", t.config.tp}, {"decode_sequences", t.shape.decode_sequences}, {"decode_context", t.shape.decode_context},
                                 {"prefill_tokens", t.shape.prefill_tokens}, {"measured_seconds", t.measured.median}, {"spread_ratio", t.measured.spread()},
                                 {"predicted_seconds", t.predicted}, {"error_ratio", t.error_ratio()}});
  }
  document["degrees"] = Document::array();
  for (const std::int64_t tp : degrees) document["degrees"].push_back({{"tp", tp}, {"mean_error_ratio", mean_error(rows, tp)}});
  document["run"] = run_document();
  return text_of(document);
}

// The ranks of one machine hold all weights between them, whatever the degree.
void check_memory(const ModelSpec& model) {
  const double weights = static_cast<double>(count_parameters(model).total()) * sizeof(float);
  const double memory = host_header().memory_bytes;
  if (memory <= 0 || weights < memory) return;
  throw InputError("--model", fmt::format("{} has {:.1f} GB of weights in fp32, this machine {:.1f} GB of memory", model.name, weights * 1e-9, memory * 1e-9),
                   "a smaller model, or a config.json with fewer layers");
}

std::vector<StepRow> measure(const StepSetFlags& flags, const HardwareProfile& hardware, const CalibrationBackend& backend, std::int64_t rounds) {
  const RunPlan plan = make_run_plan(flags);
  check_degrees(flags, plan, backend.ranks);
  for (const ModelSpec& model : plan.models) check_memory(model);
  const StepTimerOptions options{.hardware = &hardware, .kernels = backend.kernels(Storage::kFp32), .transport = backend.transport, .timeout = backend.timeout, .rounds = static_cast<int>(rounds)};
  std::vector<StepRow> rows;
  for (const ModelSpec& model : plan.models) {
    for (const std::int64_t tp : flags.tp) {
      const ParallelConfig config{.tp = tp, .moe_tp = model.is_moe() ? tp : 1};
      const auto violations = check_config(model, config);
      if (!violations.empty()) throw InputError(fmt::format("--tp {}", tp), model.name + ": " + violations.front().message, "a degree that the model allows");
      for (StepTiming& timing : time_steps(model, config, plan.shapes, options)) rows.push_back({model.name, std::move(timing)});
    }
  }
  return rows;
}

}  // namespace

void run_calibrate_steps(const Words& words) {
  BackendFlags backend_choice{.ranks_otherwise = 2, .timeout_otherwise = 60'000};
  StepSetFlags steps;
  std::string hardware;
  std::optional<std::int64_t> rounds;
  Output output;
  CommandLine line{"shardplan calibrate steps", kHelp,
                   "shardplan calibrate steps --model dense --tp 1,2 --ranks 2 --batches 2,8 --hardware h100-sxm",
                   {backend_flags(backend_choice), step_set_flags(steps)}, {}};
  line.groups.push_back({"Profile", {text_flag("--hardware", "NAME", "the profile that prices the steps (required)", hardware)}});
  line.groups.push_back({"Rounds", {count_flag("--rounds", "times that each step is measured, its best round counts (default: 3)", rounds, {1, 100})}});
  line.groups.push_back(output_flags(output));
  if (!parse_command_line(line, words)) return;
  if (hardware.empty()) throw InputError("--hardware", "is missing", "a profile, such as calibrate fit writes");
  check_output(output);
  const HardwareProfile profile = load_hardware(hardware);
  const CalibrationBackend backend = open_backend(backend_choice);
  const auto rows = measure(steps, profile, backend, rounds.value_or(3));
  if (!backend.first) return;
  deliver(output, [&] { return steps_table(rows, steps.tp); }, [&] { return steps_document(rows, steps.tp); });
}

}  // namespace shardplan
