#include "tools/documents/simulate_document.h"

#include <nlohmann/json.hpp>

#include "tools/documents/data_movement.h"
#include "tools/documents/document.h"
#include "tools/documents/memory_document.h"
#include "tools/documents/parallel_document.h"
#include "tools/documents/request_document.h"
#include "tools/documents/serving_document.h"
#include "tools/documents/violations_document.h"

namespace shardplan {
namespace {

Document times_document(const TimeSummary& times) {
  return {{"mean", times.mean.value()}, {"p50", times.p50.value()}, {"p90", times.p90.value()}, {"p99", times.p99.value()}, {"max", times.max.value()}};
}

Document requests_document(const SimulationResult& result) {
  const RequestCounts& counts = result.requests;
  return {{"arrived", counts.arrived},
          {"completed", counts.completed},
          {"rejected", counts.rejected},
          {"rejected_too_large", counts.rejected_too_large},
          {"failed", counts.failed},
          {"preempted", counts.preempted},
          {"good", result.good_requests}};
}

Document scales_document(const std::vector<ScaleRecord>& scales) {
  Document rows = Document::array();
  for (const ScaleRecord& s : scales) {
    rows.push_back({{"replica", s.replica},
                    {"groups_before", s.groups_before},
                    {"groups", s.groups},
                    {"asked_seconds", to_seconds(s.asked).value()},
                    {"paused_seconds", s.ended ? Document(to_seconds(s.paused).value()) : Document()},
                    {"resumed_seconds", s.ended ? Document(to_seconds(s.resumed).value()) : Document()},
                    {"lost_requests", s.lost},
                    {"given_up", s.given_up},
                    {"ended", s.ended}});
  }
  return rows;
}

Document series_document(const std::vector<SeriesPoint>& series) {
  Document rows = Document::array();
  for (const SeriesPoint& p : series) {
    rows.push_back({{"time_seconds", to_seconds(p.time).value()},
                    {"running", p.running},
                    {"waiting", p.waiting},
                    {"kv_use_ratio", p.kv_use_ratio},
                    {"link_use_ratio", p.link_use_ratio},
                    {"completed", p.completed},
                    {"output_tokens", p.output_tokens}});
  }
  return rows;
}

Document time_shares_document(const TimeShares& shares) {
  return {{"decode_ratio", shares.decode_ratio}, {"mixed_ratio", shares.mixed_ratio}, {"prefill_ratio", shares.prefill_ratio}, {"idle_ratio", shares.idle_ratio}};
}

Document capacity_document(const Capacity& capacity) {
  Document trials = Document::array();
  for (const CapacityTrial& t : capacity.trials) trials.push_back({{"requests_per_second", t.requests_per_second}, {"attainment_ratio", t.attainment_ratio}});
  return {{"requests_per_second", capacity.requests_per_second}, {"trials", std::move(trials)}};
}

Document pool_document(const char* role, const EstimateAnswer& pool) {
  return {{"role", role},
          {"gpus", pool.config.gpus()},
          {"parallel", parallel_document(pool.config)},
          {"legal", pool.result.violations.empty()},
          {"violations", violations_document(pool.result.violations)},
          {"memory", memory_document(pool.result.plan.ledger)}};
}

Document result_document(const SimulationResult& result) {
  return {{"requests", requests_document(result)},
          {"ttft_seconds", times_document(result.ttft)},
          {"tpot_seconds", times_document(result.tpot)},
          {"itl_seconds", times_document(result.itl)},
          {"e2e_seconds", times_document(result.e2e)},
          {"queue_seconds", times_document(result.queue)},
          {"transfer_seconds", times_document(result.transfer)},
          {"output_tokens_per_second", result.output_tokens_per_second},
          {"input_tokens_per_second", result.input_tokens_per_second},
          {"goodput_requests_per_second", result.goodput_requests_per_second},
          {"simulated_seconds", result.simulated.value()},
          {"wall_seconds", result.wall.value()},
          {"events", result.events},
          {"steps", result.steps},
          {"output_tokens", result.output_tokens},
          {"input_tokens", result.input_tokens},
          {"cached_tokens", result.cached_tokens},
          {"recomputed_tokens", result.recomputed_tokens},
          {"evicted_blocks", result.evicted_blocks},
          {"busy_ratio", result.busy_ratio},
          {"time_shares", time_shares_document(result.shares)},
          {"host_loaded_blocks", result.host_loaded_blocks},
          {"remote_loaded_blocks", result.remote_loaded_blocks},
          {"transferred_bytes", result.transferred_bytes_ratio},
          {"mean_requests", result.mean_requests},
          {"scales", scales_document(result.scales)},
          {"series", series_document(result.series)}};
}

Document recorded_document(const AnswerErrors& e) {
  return {{"requests", e.requests},
          {"ttft", {{"mean_ape", e.ttft_mean_ratio}, {"median_ape", e.ttft_median_ratio}, {"p50_ratio", e.ttft_p50_ratio}, {"p90_ratio", e.ttft_p90_ratio}}},
          {"tpot", {{"mean_ape", e.tpot_mean_ratio}, {"median_ape", e.tpot_median_ratio}}}};
}

}  // namespace

std::vector<DataMovement> movement_of(const SimulateAnswer& answer) {
  const EstimateAnswer& first = answer.estimate;
  if (!first.result.lowered) return {};
  if (!answer.decode) return data_movement(first.request, first.result, first.steps);
  if (!answer.decode->result.lowered) return {};
  return {cache_hand_over(first.request, first.result.plan, answer.decode->result.plan)};
}

bool has_steady_state(const SimulateAnswer& answer) {
  const SimulatedTraffic& t = answer.traffic;
  const bool same = answer.result && answer.result->requests.rejected_too_large == 0;  // else it is of shorter requests
  return same && !answer.decode && t.trace.empty() && t.length_ratio == 1 && t.length_cv_ratio == 0 && t.turns == 1;
}

std::string simulate_document(const RequestFlags& flags, const SimulateAnswer& answer) {
  const EstimateAnswer& estimate = answer.estimate;
  const EstimateResult& priced = estimate.result;
  Document document = {{"schema", "shardplan.simulate/1"},
                       {"request", request_document(flags)},
                       {"model", estimate.request.model.name},
                       {"hardware", estimate.request.hardware.name},
                       {"mode", estimate.request.price.mode == PriceMode::kSpeedOfLight ? "sol" : "calibrated"},
                       {"gpus", answer.gpus()},
                       {"parallel", parallel_document(estimate.config)},
                       {"legal", priced.violations.empty() && (!answer.decode || answer.decode->result.violations.empty())},
                       {"violations", violations_document(priced.violations)},
                       {"warnings", violations_document(priced.plan.warnings)},
                       {"notes", priced.notes},
                       {"memory", memory_document(priced.plan.ledger)},
                       {"simulated", answer.result.has_value()}};
  if (answer.decode) document["pools"] = {pool_document("prefill", estimate), pool_document("decode", *answer.decode)};
  document["data_movement"] = movement_document(movement_of(answer));
  if (answer.capacity) document["capacity"] = capacity_document(*answer.capacity);
  if (answer.result) document.update(result_document(*answer.result));
  if (!answer.recorded.empty()) document["recorded"] = recorded_document(errors_of(answer.recorded));
  document["steady_state"] = has_steady_state(answer) ? serving_document(priced.plan.serving) : Document(nullptr);
  document["run"] = run_document();
  return text_of(document);
}

}  // namespace shardplan
