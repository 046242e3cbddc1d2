#include "planner/measured/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "planner/benchmark_protocol.h"
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

// The workload as its client really sends it: mean lengths, and prompts held back. Nominal where that is not on record.
LoopTraffic sent_traffic(const RowQuestion& question, Workload& workload) {
  LoopTraffic traffic = loop_traffic(workload);
  if (!question.knows_protocol) return traffic;
  const BenchmarkProtocol protocol = inferencex_protocol(question.request, question.config);
  const double mean = (1 + protocol.length_ratio) / 2;
  workload.isl = std::llround(mean * static_cast<double>(workload.isl));
  workload.osl = std::llround(mean * static_cast<double>(workload.osl));
  traffic.hold_steps = static_cast<double>(protocol.scheduling.hold_steps);
  return traffic;
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

RowPricer::Shared& RowPricer::shared_of(const RowQuestion& question) {
  std::unique_ptr<Shared>& shared = shared_[name_of(question)];
  if (shared) return *shared;
  shared = std::make_unique<Shared>();
  shared->request = question.request;
  shared->request.engine_times = plain_times();
  shared->violations = check_config(question.request.model, question.config);
  if (!shared->violations.empty()) return *shared;
  shared->cluster = std::make_unique<Cluster>(shared->request, question.config.instance_gpus());
  try {
    shared->table = share_table(shared->request, question.config, shared->cluster->collectives());
  } catch (const LoweringRefusal& refusal) {
    shared->violations.push_back({refusal.rule(), refusal.what()});
  }
  return *shared;
}

namespace {

// The key, the load, and what forbids the row.
PricedRow unpriced(const RowQuestion& question, const std::vector<Violation>& violations) {
  PricedRow out;
  out.key = times_key(question.request);
  out.concurrency = static_cast<double>(question.request.workload.concurrency.value_or(1));
  out.gpus = static_cast<double>(question.config.gpus());
  out.legal = violations.empty();
  if (!out.legal) out.refusal = violations.front().rule + ": " + violations.front().message;
  return out;
}

}  // namespace

PricedRow RowPricer::price(const RowQuestion& question) {
  Shared& shared = shared_of(question);
  PricedRow out = unpriced(question, shared.violations);
  if (!out.legal) return out;
  PlanRequest request = question.request;
  request.engine_times = shared.request.engine_times;
  out.osl = static_cast<double>(request.workload.osl);
  out.traffic = sent_traffic(question, request.workload);
  Deployment deployment(request, question.config, {}, shared.cluster->collectives(), shared.table);
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
  out.steps.deviation = part_deviation(input, request.workload, running);
  return out;
}

PricedRow RowPricer::price_batch(const RowQuestion& question) {
  Shared& shared = shared_of(question);
  PricedRow out = unpriced(question, shared.violations);
  if (!out.legal) return out;
  PlanRequest request = question.request;
  request.engine_times = shared.request.engine_times;
  request.workload.equal_lengths = true;
  Deployment deployment(request, question.config, {}, shared.cluster->collectives(), shared.table);
  ServingInput input = deployment.serving_input();
  input.mixes = false;
  input.times.prefill_first = input.times.waves = true;  // all prompts, then all decodes
  input.scheduler.max_batched_tokens = request.workload.isl * static_cast<std::int64_t>(out.concurrency);
  out.holds = std::floor(running_limit(input, request.workload).requests) >= out.concurrency;
  out.steps = loop_steps(input, request.workload, out.concurrency);
  out.steps.captures = false;
  out.launched = out.steps;
  out.launched->mixed = out.steps.decode;
  out.launched->prompts = out.launched->chunks = 1;
  return out;
}

namespace {

// "model: no such model" of "FILE: line 3, column model: no such model".
std::string without_place(const std::string& refusal) {
  const std::size_t column = refusal.find(", column ");
  return column == std::string::npos ? refusal : refusal.substr(column + 9);
}

}  // namespace

std::vector<PricedRow> price_rows(const std::vector<ServingRow>& rows, const CsvTable& table) {
  RowPricer pricer;
  std::vector<PricedRow> out;
  out.reserve(rows.size());
  for (const ServingRow& row : rows) {
    try {
      out.push_back(pricer.price(question_of(row, table)));
    } catch (const InputError& unknown) {  // a model or machine that is not known: told beside the row
      out.emplace_back().refusal = without_place(unknown.what());
    }
  }
  return out;
}

std::map<std::string, std::int64_t> refusals_of(const std::vector<PricedRow>& rows) {
  std::map<std::string, std::int64_t> out;
  for (const PricedRow& row : rows) {
    if (!row.legal) ++out[row.refusal];
  }
  return out;
}

Quantity3 serve_row(const PricedRow& row, const EngineTimes& times) {
  if (row.launched) {
    Quantity3 batch;
    batch.tpot = solve_loop(*row.launched, times, {}).ttft_prefill + times.host.per_sequence.value() * row.concurrency;
    batch.ttft = solve_loop(row.steps, times, {}).ttft_prefill + times.host.per_sequence.value() * row.concurrency;
    batch.throughput = row.concurrency * row.steps.osl / (batch.ttft + (row.steps.osl - 1) * batch.tpot) / row.gpus;
    return batch;
  }
  const LoopTimes t = solve_loop(row.steps, times, row.traffic);
  Quantity3 out;
  out.tpot = t.tpot;
  out.ttft = t.ttft() + row.waiting / t.requests_per_second;
  out.throughput = row.concurrency * row.osl / (out.ttft + std::max(0.0, row.osl - 1) * out.tpot) / row.gpus;
  return out;
}

namespace {

// Of the steps that `mixed` is, with nothing before or behind them.
double spread_alone(LoopSteps steps, EngineTimes times) {
  steps.running = steps.osl = 1;
  times.host.first_token = times.host.per_prompt_token = Seconds(0);
  return spread_of(steps, times, {}).end_to_end;
}

}  // namespace

Quantity3 row_spread(const PricedRow& row, const EngineTimes& times) {
  if (row.launched) {
    const double step = spread_alone(*row.launched, times);
    return {.tpot = step, .ttft = spread_alone(row.steps, times), .throughput = step};
  }
  const LogSpread s = spread_of(row.steps, times, row.traffic);
  return {.tpot = s.tpot, .ttft = s.ttft, .throughput = s.end_to_end};
}

}  // namespace shardplan
