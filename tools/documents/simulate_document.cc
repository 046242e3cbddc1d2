#include "tools/documents/simulate_document.h"

#include <nlohmann/json.hpp>

#include "tools/documents/document.h"
#include "tools/documents/memory_document.h"
#include "tools/documents/parallel_document.h"
#include "tools/documents/request_document.h"
#include "tools/documents/serving_document.h"
#include "tools/documents/violations_document.h"

namespace shardplan {
namespace {

Document times_document(const TimeSummary& times) {
  return {{"mean", times.mean.value()}, {"p50", times.p50.value()}, {"p90", times.p90.value()}, {"p99", times.p99.value()}, {"max", times.max.value()}};
}

Document requests_document(const SimulationResult& result) {
  const RequestCounts& counts = result.requests;
  return {{"arrived", counts.arrived},
          {"completed", counts.completed},
          {"rejected", counts.rejected},
          {"rejected_too_large", counts.rejected_too_large},
          {"preempted", counts.preempted},
          {"good", result.good_requests}};
}

Document result_document(const SimulationResult& result) {
  return {{"requests", requests_document(result)},
          {"ttft_seconds", times_document(result.ttft)},
          {"tpot_seconds", times_document(result.tpot)},
          {"itl_seconds", times_document(result.itl)},
          {"e2e_seconds", times_document(result.e2e)},
          {"output_tokens_per_second", result.output_tokens_per_second},
          {"input_tokens_per_second", result.input_tokens_per_second},
          {"goodput_requests_per_second", result.goodput_requests_per_second},
          {"simulated_seconds", result.simulated.value()},
          {"wall_seconds", result.wall.value()},
          {"events", result.events},
          {"steps", result.steps},
          {"output_tokens", result.output_tokens},
          {"input_tokens", result.input_tokens},
          {"cached_tokens", result.cached_tokens},
          {"recomputed_tokens", result.recomputed_tokens},
          {"evicted_blocks", result.evicted_blocks},
          {"busy_ratio", result.busy_ratio},
          {"mean_requests", result.mean_requests}};
}

}  // namespace

bool has_steady_state(const SimulateAnswer& answer) {
  return answer.result && answer.traffic.trace.empty() && answer.traffic.length_ratio == 1;
}

std::string simulate_document(const RequestFlags& flags, const SimulateAnswer& answer) {
  const EstimateAnswer& estimate = answer.estimate;
  const EstimateResult& priced = estimate.result;
  Document document = {{"schema", "shardplan.simulate/1"},
                       {"request", request_document(flags)},
                       {"model", estimate.request.model.name},
                       {"hardware", estimate.request.hardware.name},
                       {"mode", estimate.request.price.mode == PriceMode::kSpeedOfLight ? "sol" : "calibrated"},
                       {"gpus", estimate.config.gpus()},
                       {"parallel", parallel_document(estimate.config)},
                       {"legal", priced.violations.empty()},
                       {"violations", violations_document(priced.violations)},
                       {"warnings", violations_document(priced.plan.warnings)},
                       {"notes", priced.notes},
                       {"memory", memory_document(priced.plan.ledger)},
                       {"simulated", answer.result.has_value()}};
  if (answer.result) document.update(result_document(*answer.result));
  document["steady_state"] = has_steady_state(answer) ? serving_document(priced.plan.serving) : Document(nullptr);
  document["run"] = run_document();
  return text_of(document);
}

}  // namespace shardplan
