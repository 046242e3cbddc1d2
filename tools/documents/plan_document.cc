#include "tools/documents/plan_document.h"

#include <nlohmann/json.hpp>

#include "tools/documents/data_movement.h"
#include "tools/documents/deployment_document.h"
#include "tools/documents/document.h"
#include "tools/documents/launch_document.h"
#include "tools/documents/parallel_document.h"
#include "tools/documents/pools_document.h"
#include "tools/documents/rejections_document.h"
#include "tools/documents/request_document.h"
#include "tools/documents/serving_document.h"

namespace shardplan {
namespace {

Document one_plan(const Plan& plan, std::size_t rank, const PlanRequest& request) {
  Document document = {{"rank", rank}};
  document.update(deployment_document(plan));
  document.update({{"meets_targets", plan.meets_targets},
                   {"score", plan.score},
                   {"data_movement", movement_document(data_movement(request, plan))},
                   {"launch", launch_document(export_plan(request, plan))}});
  return document;
}

Document pareto_point(const Plan& plan) {
  return {{"layout", short_text(plan.config)}, {"parallel", parallel_document(plan.config)}, {"gpus", plan.config.gpus()},
          {"max_batched_tokens", plan.max_batched_tokens}, {"serving", serving_document(plan.serving)}};
}

Document search_document(const SearchStats& stats) {
  Document passes = Document::array();
  for (const auto& [name, seconds] : stats.pass_seconds) passes.push_back({{"name", name}, {"seconds", seconds}});
  return {{"considered", stats.considered}, {"legal", stats.legal}, {"fitting", stats.fitting}, {"priced", stats.priced},
          {"seconds", stats.seconds_ratio}, {"passes", passes}};
}

}  // namespace

std::string plan_document(const RequestFlags& flags, const PlanRequest& request, const PlanResult& result, const std::optional<PoolsResult>& pools) {
  Document document = {{"schema", "shardplan.plan/1"}, {"request", request_document(flags)}, {"notes", result.notes}};
  document["plans"] = Document::array();
  for (std::size_t i = 0; i < result.plans.size(); ++i) {
    document["plans"].push_back(one_plan(result.plans[i], i + 1, request));
    if (result.plans[i].simulated) document["plans"].back()["simulated"] = simulated_document(*result.plans[i].simulated);
  }
  document["pareto"] = Document::array();
  for (const Plan& plan : result.pareto) document["pareto"].push_back(pareto_point(plan));
  if (pools) document["pools"] = pools_document(*pools);
  document["rejected"] = rejections_document(result.rejected);
  document["nearest_feasible"] = result.nearest_feasible;
  document["search"] = search_document(result.stats);
  document["run"] = run_document();
  return text_of(document);
}

}  // namespace shardplan
