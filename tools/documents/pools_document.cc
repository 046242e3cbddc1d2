#include "tools/documents/pools_document.h"

#include <nlohmann/json.hpp>

#include "tools/documents/deployment_document.h"
#include "tools/documents/serving_document.h"

namespace shardplan {
namespace {

Document share_document(const PoolShare& share) {
  Document document = deployment_document(share.plan);
  document.update({{"instances", share.plan.config.replicas},
                   {"most_requests_per_second", share.most_requests_per_second},
                   {"busy_ratio", share.busy_ratio}});
  return document;
}

}  // namespace

Document pools_document(const PoolsResult& pools) {
  Document plans = Document::array();
  for (std::size_t i = 0; i < pools.plans.size(); ++i) {
    const PoolsPlan& plan = pools.plans[i];
    plans.push_back({{"rank", i + 1},
                     {"gpus", plan.gpus()},
                     {"score", plan.score},
                     {"limited_by", plan.limited_by()},
                     {"prefill", share_document(plan.prefill)},
                     {"decode", share_document(plan.decode)},
                     {"transfer_bytes", plan.transfer_bytes},
                     {"transfer_seconds", plan.transfer.value()},
                     {"serving", serving_document(plan.serving)}});
    if (plan.simulated) plans.back()["simulated"] = simulated_document(*plan.simulated);
  }
  return {{"plans", plans}, {"refused", pools.refused}};
}

}  // namespace shardplan
