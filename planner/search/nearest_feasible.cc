#include "planner/search/nearest_feasible.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/short_number.h"
#include "base/units.h"
#include "planner/cluster.h"
#include "planner/search/enumerate.h"
#include "planner/search/memory_bound.h"
#include "planner/search/serve.h"

namespace shardplan {
namespace {

constexpr std::int64_t kMostGrowth = 16;  // times the budget
constexpr std::size_t kMostTables = 64;   // lowered per question, lightest first

struct Suggestion {
  double change_ratio = 0;  // relative size of the change: orders the lines
  std::string text;
};

std::string count_text(std::int64_t n) { return format_count(static_cast<double>(n)); }

// Memory does not depend on exchanges and hardly on variants: one table for each set of degrees.
std::vector<ParallelConfig> tables_of(const PlanRequest& request) {
  std::vector<ParallelConfig> tables;
  for (const ParallelConfig& table : enumerate_tables(request)) {
    ParallelConfig flat = table;
    flat.pp_layers.clear();
    const bool same = !tables.empty() && tables.back().tp == table.tp && tables.back().dpa == table.dpa &&
                      tables.back().pcp == table.pcp && tables.back().dcp == table.dcp &&
                      tables.back().ep == table.ep && tables.back().moe_tp == table.moe_tp;
    if (!same && violations_of(request, flat).empty()) tables.push_back(table);
  }
  return tables;
}

struct Depth {
  ParallelConfig config;
  Bytes weights;
};

// Every legal configuration whose weights fit by the bound, lightest first.
std::vector<Depth> light_depths(const PlanRequest& request) {
  const WeightParts parts = weight_parts(request.model);
  std::vector<Depth> depths;
  for (const ParallelConfig& table : tables_of(request)) {
    const auto pps = pipeline_depths(request, table.stage_ranks());
    if (pps.empty()) continue;
    ParallelConfig config = table;
    config.pp = pps.back();  // deepest: the least weights on a GPU
    const auto capacity =
        static_cast<double>(usable_bytes(memory_of(request, config), request.hardware.device.visible_memory()).value());
    const Bytes weights = weights_per_gpu_bound(request.model, parts, config);
    if (static_cast<double>(weights.value()) < capacity && violations_of(request, config).empty())
      depths.push_back({config, weights});
  }
  std::stable_sort(depths.begin(), depths.end(), [](const Depth& a, const Depth& b) { return a.weights < b.weights; });
  if (depths.size() > kMostTables) depths.resize(kMostTables);
  return depths;
}

bool reaches(const PlanRequest& request, const MemoryReach& reach) { return reach.context >= context_of(request); }

// With another model, cache format or budget: does the context fit, and where?
std::optional<ParallelConfig> fits_with(const PlanRequest& request, const std::function<void(PlanRequest&)>& change) {
  PlanRequest changed = request;
  change(changed);
  const MemoryReach reach = memory_reach(changed);
  if (!reaches(changed, reach)) return std::nullopt;
  return reach.config;
}

// Larger budgets that people can have: parts of a node that divide it, then whole nodes.
std::vector<std::int64_t> larger_budgets(const PlanRequest& request) {
  const std::int64_t node = request.hardware.node.devices;
  std::vector<std::int64_t> budgets;
  for (std::int64_t gpus = request.gpus + 1; gpus < node; ++gpus) {
    if (node % gpus == 0) budgets.push_back(gpus);
  }
  const std::int64_t step = ceil_div(std::max<std::int64_t>(1, request.gpus / 8), node) * node;
  std::int64_t gpus = request.gpus / node * node + step;
  while (gpus <= std::max(node, request.gpus * kMostGrowth)) {
    budgets.push_back(gpus);
    gpus += gpus < 2 * request.gpus ? step : std::max(step, request.gpus / node * node);
  }
  return budgets;
}

// What a deployment of that size occupies: whole nodes once it spans several.
std::int64_t occupied_gpus(const PlanRequest& request, std::int64_t gpus) {
  const std::int64_t node = request.hardware.node.devices;
  return gpus <= node ? gpus : ceil_div(gpus, node) * node;
}

void try_more_gpus(const PlanRequest& request, std::vector<Suggestion>& out) {
  for (const std::int64_t gpus : larger_budgets(request)) {
    const auto fit = fits_with(request, [gpus](PlanRequest& r) { r.gpus = gpus; });
    if (!fit) continue;
    const std::int64_t total = occupied_gpus(request, fit->instance_gpus());
    const std::int64_t more = total - request.gpus;
    out.push_back({static_cast<double>(more) / static_cast<double>(request.gpus),
                   fmt::format("{} more GPU{} of this kind ({} in all, {})", more, more == 1 ? "" : "s", total,
                               short_text(*fit))});
    return;
  }
}

void try_weights(const PlanRequest& request, const char* format, double change, std::vector<Suggestion>& out) {
  const NumberFormat& to = *find_format(format);
  const WeightFormats& now = request.model.kinds.front().formats;
  if (now.attention != nullptr && now.attention->bits <= to.bits) return;
  if (request.hardware.device.peak[static_cast<std::size_t>(to.math)].value() <= 0) return;
  const auto fit = fits_with(request, [&to](PlanRequest& r) { override_weight_format(r.model, to); });
  if (fit) out.push_back({change, fmt::format("{} weights ({})", to.bits == 8 ? "FP8" : "FP4", short_text(*fit))});
}

void try_cache(const PlanRequest& request, std::vector<Suggestion>& out) {
  if (formats_of(request).kv->bits <= 8) return;
  const auto fit = fits_with(request, [](PlanRequest& r) { r.kv_format = find_format("fp8"); });
  if (fit) out.push_back({0.25, fmt::format("FP8 cache ({})", short_text(*fit))});
}

// A lower fraction, where the engine's own is not free.
void try_fraction(const PlanRequest& request, std::vector<Suggestion>& out) {
  const Bytes device = request.hardware.device.visible_memory();
  const EngineMemory memory = memory_of(request, {});
  if (memory.fraction_of != FractionOf::kDevice || usable_bytes(memory, device) <= device - memory.held) return;
  const double free_ratio = std::floor(100 * ((device - memory.held) / device)) / 100;
  const auto fit = fits_with(request, [free_ratio](PlanRequest& r) { r.memory_fraction_ratio = free_ratio; });
  if (fit) out.push_back({0, fmt::format("--memory-fraction {:.2f} ({})", free_ratio, short_text(*fit))});
}

void try_context(const PlanRequest& request, std::vector<Suggestion>& out) {
  const MemoryReach reach = memory_reach(request);
  const std::int64_t context = context_of(request);
  if (reach.context <= 0 || reach.context >= context) return;
  out.push_back({1 - static_cast<double>(reach.context) / static_cast<double>(context),
                 fmt::format("max context {} instead of {} ({})", count_text(reach.context), count_text(context),
                             short_text(reach.config))});
}

// MTP modules, their caches and the logits of drafted tokens take room.
void try_without_drafts(const PlanRequest& request, std::vector<Suggestion>& out) {
  if (request.fixed.variant.speculative_tokens == 0) return;
  const auto fit = fits_with(request, [](PlanRequest& r) { r.fixed.variant.speculative_tokens = 0; });
  if (fit) out.push_back({0.1, fmt::format("no --speculative-tokens ({})", short_text(*fit))});
}

struct TargetRow {
  const char* name;
  std::optional<Seconds> Targets::*target;
  Seconds ServingEstimate::*value;
  double LogSpread::*spread;
  Objective objective;  // that makes the value small
};
constexpr TargetRow kTargets[] = {
    {"TPOT", &Targets::tpot, &ServingEstimate::tpot, &LogSpread::tpot, Objective::kInteractivity},
    {"TTFT", &Targets::ttft, &ServingEstimate::ttft, &LogSpread::ttft, Objective::kLatency},
    {"end-to-end", &Targets::e2e, &ServingEstimate::e2e, &LogSpread::end_to_end, Objective::kLatency},
};

// The value that is reached when this target is dropped and the others stay.
void relax_target(const PlanRequest& request, const TargetRow& row, std::vector<Suggestion>& out) {
  const auto target = request.targets.*row.target;
  if (!target) return;
  PlanRequest relaxed = request;
  (relaxed.targets.*row.target).reset();
  relaxed.objective = row.objective;
  relaxed.pareto = false;
  relaxed.explain_empty = false;
  const PlanResult result = search_plans(relaxed);
  if (result.plans.empty()) return;
  const auto kept = [&](const Plan& plan) { return plan.serving.*row.value * request.targets.margin_ratio(plan.serving.spread.*row.spread); };
  const auto least = std::min_element(result.plans.begin(), result.plans.end(), [&kept](const Plan& a, const Plan& b) { return kept(a) < kept(b); });
  const Seconds value = kept(*least);
  out.push_back(
      {value / *target - 1, fmt::format("a {} target of {} instead of {} ({})", row.name, format_seconds(value),
                                        format_seconds(*target), short_text(least->config))});
}

// The traffic that the targets allow, by a search with traffic left free.
void try_traffic(const PlanRequest& request, std::vector<Suggestion>& out) {
  if (!request.workload.concurrency && !request.workload.requests_per_second) return;
  PlanRequest free = request;
  free.workload.concurrency.reset();
  free.workload.requests_per_second.reset();
  free.objective = Objective::kThroughput;
  free.top = 1;
  free.pareto = false;
  free.explain_empty = false;
  const PlanResult result = search_plans(free);
  if (result.plans.empty()) return;
  const Plan& best = result.plans.front();
  if (request.workload.concurrency) {
    out.push_back({1 - best.serving.concurrency / static_cast<double>(*request.workload.concurrency),
                   fmt::format("concurrency {} instead of {} ({})", format_count(best.serving.concurrency),
                               count_text(*request.workload.concurrency), short_text(best.config))});
  } else {
    out.push_back({1 - best.serving.requests_per_second / *request.workload.requests_per_second,
                   fmt::format("{} requests/s instead of {} ({})", short_number(best.serving.requests_per_second),
                               short_number(*request.workload.requests_per_second), short_text(best.config))});
  }
}

// The engine has no such model: no layout of it would do.
bool refuses_model(const Engine& engine, const PlanRequest& request) {
  return !engine.check(request.model, ParallelConfig{}, request.hardware, "").empty();
}

std::vector<std::string> other_engines(const PlanRequest& request) {
  std::vector<std::string> texts;
  for (const Engine& engine : engines()) {
    if (engine.exports && !refuses_model(engine, request)) texts.push_back(fmt::format("--engine {}", engine.name));
  }
  return texts;
}

// Where no layout has what the flags ask for: those that one has without.
std::vector<std::string> flags_too_many(const PlanRequest& request) {
  std::vector<std::string> texts;
  if (request.fixed_names.empty() || !enumerate_tables(request).empty()) return texts;
  for (const std::string& name : request.fixed_names) {
    PlanRequest free = request;
    std::erase(free.fixed_names, name);
    if (enumerate_tables(free).empty()) continue;
    std::string flag = name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    const bool of_experts = flag == "ep" || flag.starts_with("moe-") || flag == "redundant-experts" || flag == "capacity-factor" || flag == "elastic-ep";
    const char* const why = of_experts && !request.model.is_moe() ? ": the model has no routed experts" : "";
    texts.push_back(fmt::format("no --{}{}", flag, why));
  }
  return texts;
}

std::vector<std::string> sorted_texts(std::vector<Suggestion> list) {
  std::stable_sort(list.begin(), list.end(),
                   [](const Suggestion& a, const Suggestion& b) { return a.change_ratio < b.change_ratio; });
  std::vector<std::string> texts;
  for (Suggestion& s : list) texts.push_back(std::move(s.text));
  return texts;
}

}  // namespace

MemoryReach memory_reach(const PlanRequest& request) {
  MemoryReach best;
  const Cluster cluster(request, request.gpus);
  const std::vector<Depth> depths = light_depths(request);
  best.unsupported = !depths.empty();
  for (const Depth& depth : depths) {
    try {
      const Deployment deployment(request, depth.config, {}, cluster.collectives());
      best.unsupported = false;
      const std::int64_t tokens = deployment.ledger().group_capacity_tokens;
      const bool weights_fit = std::all_of(deployment.ledger().stages.begin(), deployment.ledger().stages.end(),
                                           [](const StageLedger& stage) { return stage.missing_bytes == Bytes(0); });
      if (weights_fit && tokens > best.context) best = {tokens, deployment.config(), false};
      if (deployment.ledger().fits) break;
    } catch (const LoweringRefusal&) {
      continue;  // a table that cannot be served holds nothing
    }
  }
  return best;
}

std::vector<std::string> nearest_feasible(const PlanRequest& request, std::int64_t fitting,
                                          const RejectionTally& refused) {
  std::vector<Suggestion> list;
  if (refuses_model(engine_of(request), request)) return other_engines(request);
  if (request.fixed.variant.speculative_tokens > 0 && request.model.mtp_modules == 0)
    return {"no --speculative-tokens: the model has no MTP module to draft with"};
  if (auto flags = flags_too_many(request); !flags.empty()) return flags;
  const MemoryReach reach = memory_reach(request);
  if (reach.unsupported) return {};
  const bool too_slow = refused.nearest("tpot").rejection != nullptr || refused.nearest("ttft").rejection != nullptr;
  if (fitting == 0 && !(too_slow && reaches(request, reach))) {
    try_fraction(request, list);
    try_context(request, list);
    try_without_drafts(request, list);
    try_more_gpus(request, list);
    try_cache(request, list);
    try_weights(request, "fp8", 0.5, list);
    if (list.empty()) try_weights(request, "nvfp4", 0.75, list);
  } else {
    for (const TargetRow& row : kTargets) relax_target(request, row, list);
    try_traffic(request, list);
  }
  return sorted_texts(std::move(list));
}

}  // namespace shardplan
