#include "tools/documents/explain_document.h"

#include <nlohmann/json.hpp>

#include "tools/documents/data_movement.h"
#include "tools/documents/document.h"
#include "tools/documents/parallel_document.h"
#include "tools/documents/pools_document.h"
#include "tools/documents/rejections_document.h"
#include "tools/documents/request_document.h"
#include "tools/documents/serving_document.h"
#include "tools/documents/step_document.h"

namespace shardplan {
namespace {

Document winner_document(const ExplainAnswer& answer) {
  if (answer.result.plans.empty()) return nullptr;
  const Plan& plan = answer.result.plans.front();
  const bool calibrated = answer.request.price.mode == PriceMode::kCalibrated;
  return {{"layout", short_text(plan.config)},
          {"parallel", parallel_document(plan.config)},
          {"gpus", plan.config.gpus()},
          {"serving", serving_document(plan.serving)},
          {"prefill", step_document(answer.winner.prefill, calibrated)},
          {"decode", step_document(answer.winner.decode, calibrated)},
          {"data_movement", movement_document(data_movement(answer.request, answer.winner.plan))}};
}

Document why_document(const Explanation& why) {
  if (!why.found) return nullptr;
  Document shares = Document::array();
  for (const TimeShare& share : why.shares) {
    shares.push_back({{"what", share.what}, {"seconds", share.time.value()}, {"share_ratio", share.share_ratio}});
  }
  Document document = {{"winner", why.winner}, {"binds", why.binds}, {"capacity", why.capacity}, {"runner_up", why.runner_up},
                       {"margin_ratio", why.margin_ratio}, {"shares", shares}};
  if (!why.drops.empty()) document["drops"] = why.drops;
  return document;
}

Document sensitivity_document(const std::vector<Sensitivity>& rows) {
  Document document = Document::array();
  for (const Sensitivity& row : rows) {
    document.push_back({{"change", row.change}, {"order_changes", row.order_changes}, {"winner", row.winner},
                        {"score_ratio", row.score_ratio}, {"message", row.message}});
  }
  return document;
}

}  // namespace

std::string explain_document(const RequestFlags& flags, const ExplainAnswer& answer) {
  Document document = {{"schema", "shardplan.explain/1"},
          {"request", request_document(flags)},
          {"winner", winner_document(answer)},
          {"why", why_document(answer.why)},
          {"sensitivity", sensitivity_document(answer.why.sensitivity)},
          {"rejected", rejections_document(answer.result.rejected)},
          {"nearest_feasible", answer.result.nearest_feasible},
          {"notes", answer.result.notes},
          {"run", run_document()}};
  if (answer.pools) document["pools"] = pools_document(*answer.pools);
  return text_of(document);
}

}  // namespace shardplan
