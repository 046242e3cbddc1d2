#include "tools/documents/estimate_document.h"

#include <nlohmann/json.hpp>

#include "tools/documents/data_movement.h"
#include "tools/documents/document.h"
#include "tools/documents/memory_document.h"
#include "tools/documents/parallel_document.h"
#include "tools/documents/request_document.h"
#include "tools/documents/serving_document.h"
#include "tools/documents/step_document.h"
#include "tools/documents/violations_document.h"

namespace shardplan {
std::string estimate_document(const RequestFlags& flags, const EstimateAnswer& answer) {
  const EstimateResult& result = answer.result;
  const bool calibrated = answer.request.price.mode == PriceMode::kCalibrated;
  Document document = {{"schema", "shardplan.estimate/1"},
                       {"request", request_document(flags)},
                       {"model", answer.request.model.name},
                       {"hardware", answer.request.hardware.name},
                       {"mode", answer.request.price.mode == PriceMode::kSpeedOfLight ? "sol" : "calibrated"},
                       {"gpus", answer.config.gpus()},
                       {"parallel", parallel_document(answer.config)},
                       {"legal", result.violations.empty()},
                       {"violations", violations_document(result.violations)},
                       {"warnings", violations_document(result.plan.warnings)},
                       {"notes", result.notes},
                       {"memory", memory_document(result.plan.ledger)},
                       {"prefill", step_document(result.prefill, calibrated)},
                       {"decode", step_document(result.decode, calibrated)}};
  const bool serves = result.lowered && !answer.steps.given;
  document["serving"] = serves ? serving_document(result.plan.serving) : Document(nullptr);
  document["data_movement"] = result.lowered ? movement_document(data_movement(answer.request, result, answer.steps)) : Document::array();
  document["run"] = run_document();
  return text_of(document);
}

}  // namespace shardplan
