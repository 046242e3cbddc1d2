#include "tests/planner/requests.h"

#include "models/catalog.h"

namespace shardplan {

PlanRequest request_for(const Ask& ask) {
  PlanRequest request;
  request.model = load_model(ask.model);
  request.hardware = load_hardware(ask.hardware);
  request.gpus = ask.gpus;
  if (*ask.engine != '\0') request.engine = &require_engine(ask.engine);
  request.workload.isl = ask.isl;
  request.workload.osl = ask.osl;
  if (ask.concurrency > 0) request.workload.concurrency = ask.concurrency;
  if (ask.tpot_ms > 0) request.targets.tpot = Seconds(ask.tpot_ms * kMilli);
  if (ask.ttft_ms > 0) request.targets.ttft = Seconds(ask.ttft_ms * kMilli);
  return request;
}

ParallelConfig degrees(std::int64_t tp, std::int64_t pp, std::int64_t dpa, std::int64_t dcp) {
  ParallelConfig config;
  config.tp = tp;
  config.pp = pp;
  config.dpa = dpa;
  config.dcp = dcp;
  return config;
}

ParallelConfig moe_degrees(std::int64_t tp, std::int64_t dpa, bool ep) {
  ParallelConfig config = degrees(tp, 1, dpa);
  (ep ? config.ep : config.moe_tp) = config.stage_ranks();
  if (dpa > 1) config.variant.moe_comm = MoeComm::kAllGather;
  return config;
}

void fix(PlanRequest& request, const ParallelConfig& config, std::vector<std::string> names) {
  request.fixed = config;
  request.fixed_names = std::move(names);
}

}  // namespace shardplan
