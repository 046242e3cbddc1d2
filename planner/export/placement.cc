#include "planner/export/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "planner/deployment.h"
#include "planner/rules.h"

namespace shardplan {

NodeSpread node_spread_of(const PlanRequest& request, const ParallelConfig& c) {
  const std::int64_t per_node = request.hardware.node.devices;
  if (c.instance_gpus() <= per_node) return NodeSpread::kOneNode;
  const std::int64_t group = c.pp * c.pcp * c.tp;
  return c.dpa > 1 && group <= per_node && per_node % group == 0 ? NodeSpread::kWholeGroups : NodeSpread::kNodes;
}

std::int64_t nodes_of(const PlanRequest& request, const ParallelConfig& c) {
  return ceil_div(c.instance_gpus(), request.hardware.node.devices);
}

std::int64_t gpus_per_node(const PlanRequest& request, const ParallelConfig& c) {
  return c.instance_gpus() / nodes_of(request, c);
}

std::string checkpoint_of(const ModelSpec& model) { return model.hf_id.empty() ? model.name : model.hf_id; }

bool quantises_on_load(const ModelSpec& model) { return model.requested_format == "fp8"; }

std::string joined_counts(const std::vector<std::int64_t>& counts) {
  std::string text;
  for (const std::int64_t count : counts) text += (text.empty() ? "" : ",") + std::to_string(count);
  return text;
}

std::string own_split(const PlanRequest& request, const Plan& plan, const char* engine) {
  const std::int64_t pp = plan.config.pp;
  if (pp == 1 || plan.layer_split == require_engine(engine).layer_split(request.model.layer_count(), pp)) return "";
  return joined_counts(plan.layer_split);
}

std::string full_version(const std::string& version) {
  const Version v = parse_version(version);
  return fmt::format("{}.{}.{}", v.major, v.minor, v.patch);
}

Bytes least_pool(const Plan& plan) {
  Bytes least = plan.ledger.stages.front().kv_pool_bytes;
  for (const StageLedger& stage : plan.ledger.stages) least = std::min(least, stage.kv_pool_bytes);
  return least;
}

std::vector<std::string> common_notes(const PlanRequest& request, const Plan& plan, bool quantises) {
  const ParallelConfig& c = plan.config;
  const std::string name = checkpoint_of(request.model);
  std::vector<std::string> notes;
  if (c.replicas > 1) {
    notes.push_back(fmt::format(
        "{} replicas are {} independent servers: start each, and put a router in front that balances requests",
        c.replicas, c.replicas));
  }
  if (request.model.hf_id.empty())
    notes.push_back(fmt::format("put the checkpoint's name or folder in place of {}", name));
  if (request.targets.tpot || request.targets.ttft || request.targets.e2e) {
    notes.push_back(
        fmt::format("the targets are met with up to {:.0f} requests at once per replica: a router, or the engine's "
                    "limit, must hold that",
                    std::max(1.0, std::floor(plan.serving.running))));
  }
  const std::string& weights = request.model.requested_format;
  if (!weights.empty() && weights != "bf16" && !(quantises && quantises_on_load(request.model)))
    notes.push_back(
        fmt::format("weights in {} need a checkpoint quantised so: put its name in place of {}", weights, name));
  return notes;
}

}  // namespace shardplan
