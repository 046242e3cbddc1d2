#include "tests/planner/launch_cases.h"

#include <algorithm>

#include "planner/deployment.h"
#include "tests/catch.h"

namespace shardplan {

Plan made_plan(const PlanRequest& request, const ParallelConfig& config) {
  Plan plan;
  plan.config = engine_of(request).settled(request.model, config);
  const SchedulerDefaults scheduler = scheduler_of(request, plan.config, 0);
  plan.max_batched_tokens = scheduler.max_batched_tokens;
  plan.max_num_sequences = scheduler.max_sequences;
  plan.layer_split = plan.config.pp_layers.empty()
                         ? engine_of(request).layer_split(request.model.layer_count(), plan.config.pp)
                         : plan.config.pp_layers;
  plan.ledger.device_bytes = request.hardware.device.memory;
  plan.ledger.fits = true;
  StageLedger stage;
  stage.weights_bytes = Bytes(40 * kGiB);
  stage.workspace_bytes = Bytes(4 * kGiB);
  stage.kv_pool_bytes = Bytes(60 * kGiB);
  plan.ledger.stages.assign(static_cast<std::size_t>(plan.config.pp), stage);
  plan.serving.ttft = Seconds(0.25);
  plan.serving.tpot = Seconds(0.02);
  plan.serving.output_tokens_per_second = 1234;
  plan.serving.concurrency = 64;
  return plan;
}

std::vector<std::string> faults_of(const PlanRequest& request, const Launch& launch, PoolRole role) {
  std::vector<std::string> out;
  const LaunchCheck check{launch.engine, launch.engine_version, request.model, request.hardware, role};
  for (const LaunchFinding& finding : check_launch(check, launch.files))
    out.push_back(finding.file + ": " + finding.message);
  return out;
}

const LaunchFile& file_named(const Launch& launch, const std::string& ending) {
  const auto file = std::find_if(launch.files.begin(), launch.files.end(),
                                 [&ending](const LaunchFile& f) { return f.name.ends_with(ending); });
  REQUIRE(file != launch.files.end());
  return *file;
}

Launch edited(Launch launch, const std::string& from, const std::string& to) {
  bool found = false;
  for (LaunchFile& file : launch.files) {
    const std::size_t at = file.content.find(from);
    if (at == std::string::npos) continue;
    found = true;
    file.content.replace(at, from.size(), to);
  }
  REQUIRE(found);
  return launch;
}

}  // namespace shardplan
