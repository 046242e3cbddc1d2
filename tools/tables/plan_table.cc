#include "tools/tables/plan_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/table.h"
#include "base/units.h"
#include "planner/objective.h"
#include "planner/dropped_picks.h"
#include "planner/speculation_gain.h"
#include "tools/tables/estimate_table.h"
#include "tools/tables/limit.h"
#include "tools/tables/movement_table.h"
#include "tools/tables/numbers.h"
#include "tools/tables/rejection_table.h"
#include "tools/tables/verified_table.h"

namespace shardplan {
namespace {

using Align = Table::Align;

std::string targets_of(const Targets& t) {
  std::string text;
  const auto add = [&text](const char* name, const std::optional<Seconds>& target) {
    if (target) text += fmt::format("{}{} at most {}", text.empty() ? "" : ", ", name, format_seconds(*target));
  };
  add("TTFT", t.ttft);
  add("TPOT", t.tpot);
  add("request", t.e2e);
  if (!text.empty() && t.deviations > 0) text += " with what predictions may be off by to spare";
  return text;
}

std::string traffic_of(const Workload& w) {
  std::string text = fmt::format("{} prompt and {}", whole(w.isl), counted(w.osl, "output token"));
  if (w.prefix > 0) text += fmt::format(" ({} cached)", whole(w.prefix));
  if (w.concurrency) text += fmt::format(", {} in flight", whole(*w.concurrency));
  if (w.requests_per_second) text += fmt::format(", {} requests/s", short_number(*w.requests_per_second));
  return text;
}

std::string headline(const PlanRequest& r) {
  const std::string targets = targets_of(r.targets);
  return fmt::format("{} on up to {} {} ({}): {}{}{}; {}\n", r.model.name, whole(r.gpus), r.hardware.name,
                     r.engine == nullptr ? "no engine" : r.engine->name, traffic_of(r.workload), targets.empty() ? "" : "; ", targets,
                     row_of(r.objective).goal);
}

// Cache that the running requests leave free, of what a rank may use.
std::string headroom_of(const Plan& plan, const Workload& workload) {
  const auto capacity = static_cast<double>(plan.ledger.request_capacity(workload.tokens()));
  if (capacity <= 0) return "-";
  return in_percent(std::max(0.0, 1 - plan.serving.running / capacity));
}

std::vector<std::string> measures_of(const Plan& plan, const Workload& workload) {
  const bool goes_on = workload.osl > 1;  // else no token follows the first
  const ServingEstimate& s = plan.serving;
  return {short_text(plan.config),
          whole(plan.config.gpus()),
          short_number(s.running * static_cast<double>(plan.config.replicas)),
          whole(plan.max_batched_tokens),
          in_milliseconds(s.ttft),
          goes_on ? in_milliseconds(s.tpot) : "-",
          short_number(s.output_tokens_per_second_per_gpu),
          goes_on ? short_number(s.tokens_per_second_per_user) : "-"};
}

std::vector<Table::Column> measure_columns() {
  return {{"layout", Align::kLeft}, {"GPUs"}, {"in flight"}, {"step tokens"}, {"TTFT ms"}, {"TPOT ms"}, {"tok/s/GPU"}, {"tok/s/user"}};
}

std::string ranked_table(const PlanRequest& request, const PlanResult& result) {
  std::vector<Table::Column> columns = measure_columns();
  columns.insert(columns.begin(), Table::Column{"rank"});
  for (const char* title : {"weights GiB", "cache free"}) columns.push_back({title});
  columns.push_back({"limited by", Align::kLeft});
  Table table(std::move(columns));
  for (std::size_t i = 0; i < result.plans.size(); ++i) {
    const Plan& plan = result.plans[i];
    std::vector<std::string> row = measures_of(plan, request.workload);
    row.insert(row.begin(), std::to_string(i + 1));
    Bytes weights;
    for (const StageLedger& stage : plan.ledger.stages) weights = std::max(weights, stage.weights_bytes);
    row.push_back(in_gib(weights));
    row.push_back(headroom_of(plan, request.workload));
    row.push_back(limit_of(plan, request));
    table.add_row(std::move(row));
  }
  return table.text(2);
}

std::string verified(const PlanResult& result) {
  return verified_table(verified_rows(result.plans, [](const Plan& plan) { return short_text(plan.config); }));
}

std::string pareto_table(const PlanRequest& request, const PlanResult& result) {
  if (result.pareto.size() < 2) return "";
  Table table(measure_columns());
  for (const Plan& plan : result.pareto) table.add_row(measures_of(plan, request.workload));
  return "\nPareto front: the most throughput for each speed that a user sees\n" + table.text(2);
}

std::string nothing_found(const PlanResult& result) {
  std::string text = "\nNo plan meets what was asked.\n";
  if (!result.nearest_feasible.empty()) text += "It would take, nearest first:\n";
  for (const std::string& change : result.nearest_feasible) text += "  - " + change + "\n";
  return text;
}

}  // namespace

std::string plan_table(const PlanRequest& request, const PlanResult& result) {
  std::string text = headline(request) + notes_lines(result.notes);
  text += result.plans.empty() ? nothing_found(result) : "\n" + ranked_table(request, result);
  if (!result.plans.empty() && result.plans.front().serving.speculation)
    text += fmt::format("  drafts of the first: {}\n", speculation_text(result.plans.front().serving));
  if (!result.plans.empty() && result.plans.front().serving.decode_drops)
    text += fmt::format("  decode steps of the first: {}\n", dropped_text(result.plans.front().serving.decode_drops));
  if (!result.plans.empty() && !request.scale_to.empty())
    text += "\nScaling an instance of the first\n" + scaling_table(data_movement(request, result.plans.front()));
  text += verified(result) + pareto_table(request, result) + rejection_table(result.rejected);
  const SearchStats& s = result.stats;
  const char* const rest = s.fitting < s.legal ? "; the rest do not fit in memory, or a bound rules them out" : "";
  return text + fmt::format("\nSearched {}: {} legal, {} priced{}.\n", counted(s.considered, "configuration"),
                            whole(s.legal), whole(s.fitting), rest);
}

}  // namespace shardplan
