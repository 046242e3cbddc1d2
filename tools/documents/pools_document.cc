#include "tools/documents/pools_document.h"

#include <nlohmann/json.hpp>

#include "tools/documents/memory_document.h"
#include "tools/documents/parallel_document.h"
#include "tools/documents/serving_document.h"
#include "tools/documents/violations_document.h"

namespace shardplan {
namespace {

Document share_document(const PoolShare& share) {
  const Plan& plan = share.plan;
  return {{"layout", short_text(plan.config)},
          {"parallel", parallel_document(plan.config)},
          {"instances", plan.config.replicas},
          {"gpus", plan.config.gpus()},
          {"device_order", name_of(plan.order)},
          {"layer_split", plan.layer_split},
          {"max_batched_tokens", plan.max_batched_tokens},
          {"max_num_seqs", plan.max_num_sequences},
          {"warnings", violations_document(plan.warnings)},
          {"memory", memory_document(plan.ledger)},
          {"serving", serving_document(plan.serving)},
          {"most_requests_per_second", share.most_requests_per_second},
          {"busy_ratio", share.busy_ratio}};
}

}  // namespace

Document simulated_document(const SimulatedServing& s) {
  return {{"rank_before", s.rank_before},
          {"meets_targets", s.meets_targets},
          {"score", s.score},
          {"ttft_seconds", s.ttft.value()},
          {"ttft_p99_seconds", s.ttft_p99.value()},
          {"tpot_seconds", s.tpot.value()},
          {"tpot_p99_seconds", s.tpot_p99.value()},
          {"e2e_seconds", s.e2e.value()},
          {"output_tokens_per_second", s.output_tokens_per_second},
          {"output_tokens_per_second_per_gpu", s.output_tokens_per_second_per_gpu},
          {"preempted", s.preempted},
          {"rejected", s.rejected}};
}

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
