// What the planner says of measured rows: each priced once, then served as often as engine times are tried.
//
// Rows go the planner's normal way (legality, lowering, ledger, prices); prices carry no engine factors, which are
// applied in the closed loop, so that a fit over engine times asks for no price again. Configurations are lowered once.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/measured/serving_rows.h"
#include "planner/serving_interval.h"
#include "planner/serving_loop.h"

namespace shardplan {

struct PricedRow {
  bool legal = false;
  std::string refusal;  // of what is not legal: rule and message
  bool holds = true;    // the cache and the seats hold the concurrency
  LoopSteps steps;      // of one replica, parts without factors
  LoopTraffic traffic;
  TimesKey key;
  double waiting = 0;      // requests of a replica that find no place
  double osl = 1;          // nominal, by which tables derive throughput
  double concurrency = 0;  // of the deployment
  double gpus = 1;
  // Of a static batch: its decode step in the place of `mixed`, launched as steps with prompts are.
  std::optional<LoopSteps> launched;
};

struct Quantity3 {  // seconds, seconds, output tokens/s/GPU
  double tpot = 0, ttft = 0, throughput = 0;
};

// Of a static batch: one decode step, and the prompts of the whole batch.
[[nodiscard]] Quantity3 serve_row(const PricedRow& row, const EngineTimes& times);
// Standard deviations of the logarithms.
[[nodiscard]] Quantity3 row_spread(const PricedRow& row, const EngineTimes& times);

class RowPricer {
 public:
  RowPricer();
  ~RowPricer();
  RowPricer(const RowPricer&) = delete;
  RowPricer& operator=(const RowPricer&) = delete;
  [[nodiscard]] PricedRow price(const RowQuestion& question);
  // As one static batch of `concurrency` requests: all prompts first, in one step.
  [[nodiscard]] PricedRow price_batch(const RowQuestion& question);

 private:
  struct Shared;
  Shared& shared_of(const RowQuestion& question);
  std::map<std::string, std::unique_ptr<Shared>> shared_;
};

// A row whose model, machine or format is not known is not legal, and its refusal says so.
[[nodiscard]] std::vector<PricedRow> price_rows(const std::vector<ServingRow>& rows, const CsvTable& table);
// Why rows are not legal, and how many.
[[nodiscard]] std::map<std::string, std::int64_t> refusals_of(const std::vector<PricedRow>& rows);

}  // namespace shardplan
