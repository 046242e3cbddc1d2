#include "tools/tables/estimate_table.h"

#include <fmt/format.h>

#include "base/units.h"
#include "tools/tables/memory_table.h"
#include "tools/tables/movement_table.h"
#include "tools/tables/numbers.h"
#include "tools/tables/serving_table.h"
#include "tools/tables/step_table.h"

namespace shardplan {
namespace {

std::string headline(const EstimateAnswer& answer) {
  const std::int64_t gpus = answer.config.gpus();
  const bool sol = answer.request.price.mode == PriceMode::kSpeedOfLight;
  return fmt::format("{} on {} {}: {}{}\n", answer.request.model.name, whole(gpus),
                     answer.request.hardware.name, short_text(answer.config), sol ? "; times at the speed of light" : "");
}

std::string violations_lines(const char* kind, const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& violation : violations) text += fmt::format("  {} ({}): {}\n", kind, violation.rule, violation.message);
  return text;
}

std::string decode_title(const EstimateAnswer& answer) {
  if (!answer.steps.given) return "Decode step";
  const BatchShape& shape = answer.steps.decode;
  return fmt::format("Decode step of {} at {} positions", counted(shape.decode_sequences, "sequence"), format_count(shape.decode_context));
}

std::string prefill_title(const EstimateAnswer& answer) {
  if (!answer.steps.given) return "Prefill step";
  const BatchShape& shape = answer.steps.prefill;
  std::string text = fmt::format("Prefill of {}", counted(shape.prefill_tokens, "token"));
  if (shape.prefill_prefix > 0) text += fmt::format(" behind {} cached ones", format_count(shape.prefill_prefix));
  return text;
}

}  // namespace

std::string notes_lines(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += "  note: " + note + "\n";
  return text;
}

std::string estimate_heading(const EstimateAnswer& answer) {
  const EstimateResult& result = answer.result;
  return headline(answer) + violations_lines("illegal", result.violations) + violations_lines("warning", result.plan.warnings) + notes_lines(result.notes);
}

std::string estimate_table(const EstimateAnswer& answer) {
  const EstimateResult& result = answer.result;
  std::string text = estimate_heading(answer);
  if (!result.lowered) return text;
  const Workload& workload = answer.request.workload;
  text += "\n" + memory_table(result.plan, workload.tokens());
  for (const std::string& step : {step_table(prefill_title(answer), result.prefill), step_table(decode_title(answer), result.decode)}) {
    if (!step.empty()) text += "\n" + step;
  }
  text += "\n" + movement_table(data_movement(answer.request, result, answer.steps));
  if (answer.steps.given) return text;
  text += "\n" + serving_table(result.plan.serving, workload, answer.config.replicas);
  return text + targets_line(result.plan.serving, answer.request.targets);
}

}  // namespace shardplan
