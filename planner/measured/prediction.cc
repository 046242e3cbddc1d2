#include "planner/measured/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "planner/cluster.h"
#include "planner/deployment.h"

namespace shardplan {
namespace {

// Times whose factors are 1: prices are then those of the profile alone.
std::shared_ptr<const EngineTimesTable> plain_times() {
  auto table = std::make_shared<EngineTimesTable>();
  table->prior.fill(1);
  return table;
}

std::string name_of(const RowQuestion& q) {
  const PlanRequest& r = q.request;
  const ParallelConfig& c = q.config;
  const TimesKey key = times_key(r);
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", r.model.name, key.dense_format, key.expert_format,
                     r.hardware.name, r.kv_format != nullptr ? r.kv_format->name : "", key.engine, c.pp, c.dpa, c.tp,
                     c.ep, c.moe_tp, c.replicas);
}

}  // namespace

struct RowPricer::Shared {
  PlanRequest request;
  std::unique_ptr<Cluster> cluster;
  SharedTable table;
  std::vector<Violation> violations;
};

RowPricer::RowPricer() = default;
RowPricer::~RowPricer() = default;

PricedRow RowPricer::price(const RowQuestion& question) {
  std::unique_ptr<Shared>& shared = shared_[name_of(question)];
  if (!shared) {
    shared = std::make_unique<Shared>();
    shared->request = question.request;
    shared->request.engine_times = plain_times();
    shared->violations = check_config(question.request.model, question.config);
    if (shared->violations.empty()) {
      shared->cluster = std::make_unique<Cluster>(shared->request, question.config.instance_gpus());
      try {
        shared->table = share_table(shared->request, question.config, shared->cluster->collectives());
      } catch (const LoweringRefusal& refusal) {
        shared->violations.push_back({refusal.rule(), refusal.what()});
      }
    }
  }
  PricedRow out;
  out.key = times_key(question.request);
  out.concurrency = static_cast<double>(question.request.workload.concurrency.value_or(1));
  out.gpus = static_cast<double>(question.config.gpus());
  if (!shared->violations.empty()) {
    out.refusal = shared->violations.front().rule + ": " + shared->violations.front().message;
    return out;
  }
  PlanRequest request = question.request;
  request.engine_times = shared->request.engine_times;
  Deployment deployment(request, question.config, {}, shared->cluster->collectives(), shared->table);
  ServingInput input = deployment.serving_input();
  const EngineTimes shipped = shipped_engine_times().resolve(out.key);
  input.times.prefill_first = shipped.prefill_first;
  input.times.waves = shipped.waves;
  const double asked = std::max(1.0, out.concurrency / static_cast<double>(question.config.replicas));
  const double most = std::floor(running_limit(input, request.workload).requests);
  out.holds = most >= asked;
  const double running = most >= 1 ? std::min(asked, most) : asked;  // it ran: then the ledger errs, not the row
  out.waiting = asked - running;
  out.steps = loop_steps(input, request.workload, running);
  out.traffic = loop_traffic(request.workload);
  out.legal = true;
  return out;
}

std::vector<PricedRow> price_rows(const std::vector<ServingRow>& rows, const CsvTable& table) {
  RowPricer pricer;
  std::vector<PricedRow> out;
  out.reserve(rows.size());
  for (const ServingRow& row : rows) {
    try {
      out.push_back(pricer.price(question_of(row, table)));
    } catch (const InputError& unknown) {   // a model or machine that is not known: told beside the row
      out.emplace_back().refusal = unknown.what();
    }
  }
  return out;
}

Quantity3 serve_row(const PricedRow& row, const EngineTimes& times) {
  const LoopTimes t = solve_loop(row.steps, times, row.traffic);
  Quantity3 out;
  out.tpot = t.tpot;
  out.ttft = t.ttft() + row.waiting / t.requests_per_second;
  out.throughput =
      row.concurrency * row.steps.osl / (out.ttft + std::max(0.0, row.steps.osl - 1) * out.tpot) / row.gpus;
  return out;
}

Quantity3 row_spread(const PricedRow& row, const EngineTimes& times) {
  const LogSpread s = spread_of(row.steps, times, row.traffic);
  return {.tpot = s.tpot, .ttft = s.ttft, .throughput = s.end_to_end};
}

}  // namespace shardplan
