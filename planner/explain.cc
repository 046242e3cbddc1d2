#include "planner/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/short_number.h"
#include "base/units.h"
#include "planner/cluster.h"
#include "planner/deployment.h"
#include "planner/dropped_picks.h"
#include "planner/objective.h"
#include "planner/sensitivity.h"
#include "planner/steady_steps.h"

namespace shardplan {
namespace {

// What a share means for whoever wants it smaller.
const char* meaning_of(const std::string& what) {
  static const std::map<std::string, const char*> kMeaning{
      {"memory bandwidth",
       "each token re-reads weights and cache: larger batches share the weights, more ranks share the bytes"},
      {"compute", "the arithmetic units are busy: only more or faster GPUs, or narrower formats, help"},
      {"communication", "ranks wait for each other's data: fewer ranks in a group, or a faster fabric, help"},
      {"kernel launches", "many small kernels: fewer layers on a rank, or larger batches, help"},
      {"waiting for the busiest rank", "work is uneven over ranks: expert placement or padding is what to look at"},
      {"drafting", "MTP modules draft the next step's tokens: fewer of them help where many are refused"},
      {"host", "scheduler and sampling: fewer sequences in a group of ranks help"},
      {"other requests' prompts", "prompts share the steps: prefix reuse, or pools of their own for prompts, help"},
  };
  const auto at = kMeaning.find(what);
  return at == kMeaning.end() ? "" : at->second;
}

// The computing part of a step by what each operation is bound by.
void add_operations(const StepBreakdown& step, double compute, std::map<std::string, double>& seconds) {
  std::map<std::string, double> by;
  double all = 0;
  for (const OpRow& op : step.ops) {
    const double time = op.time.value() * static_cast<double>(op.count);
    const char* bound = op.bound == "memory"    ? "memory bandwidth"
                        : op.bound == "compute" ? "compute"
                                                : "kernel launches";
    by[op.name.starts_with("draft_") ? "drafting" : bound] += time;
    all += time;
  }
  for (const auto& [what, time] : by) seconds[what] += all > 0 ? compute * time / all : 0;
}

std::vector<TimeShare> shares_of(const PlanRequest& request, const Plan& plan) {
  const Cluster cluster(request, plan.config.instance_gpus());
  Deployment deployment(request, plan.config, {plan.order, plan.max_batched_tokens}, cluster.collectives());
  const StepBreakdown step = deployment.pricer().breakdown(deployment.stages(), steady_decode(request, plan));
  std::map<std::string, double> seconds;
  add_operations(step, step.time.compute.value() + step.time.overhead.value(), seconds);
  seconds["communication"] += step.time.exposed_communication.value();
  seconds["waiting for the busiest rank"] += step.time.wait.value();
  seconds["host"] += std::max(0.0, plan.serving.decode_step.value() - step.time.seconds.value());
  seconds["other requests' prompts"] += std::max(0.0, (plan.serving.tpot - plan.serving.decode_step).value());
  double all = 0;
  for (const auto& [what, time] : seconds) all += time;
  std::vector<TimeShare> shares;
  for (const auto& [what, time] : seconds) {
    if (time > 0) shares.push_back({what, Seconds(time), time / all});
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const TimeShare& a, const TimeShare& b) { return a.time > b.time; });
  return shares;
}

// What is said of a plan: by the simulation where both of a pair were simulated, by the closed form otherwise.
struct Said {
  double score = 0;
  double per_gpu = 0;  // output tokens/s
  Seconds ttft, tpot;
};

Said said_of(const Plan& plan, bool simulated) {
  if (!simulated)
    return {plan.score, plan.serving.output_tokens_per_second_per_gpu, plan.serving.ttft, plan.serving.tpot};
  const SimulatedServing& s = *plan.simulated;
  return {s.score, s.output_tokens_per_second_per_gpu, s.ttft, s.tpot};
}

std::string text_of(const Said& said) {
  return fmt::format("{} output tokens/s per GPU, TTFT {}, TPOT {}", short_number(said.per_gpu),
                     format_seconds(said.ttft), format_seconds(said.tpot));
}

std::string winner_text(const PlanRequest& request, const Plan& plan) {
  std::string text =
      fmt::format("{} on {} of {} GPUs: {} at {} requests at once", short_text(plan.config), plan.config.gpus(),
                  request.gpus, text_of(said_of(plan, false)), format_count(plan.serving.concurrency));
  if (plan.simulated)
    text += fmt::format("; simulated {}, targets {}", text_of(said_of(plan, true)),
                        plan.simulated->meets_targets ? "met" : "missed");
  return text;
}

std::string capacity_text(const PlanRequest& request, const Plan& plan) {
  const auto room = plan.ledger.request_capacity(request.workload.isl + request.workload.osl / 2);
  const std::string& bound = plan.serving.bound;
  const Targets& targets = request.targets;
  const bool has_target = targets.ttft || targets.tpot || targets.e2e;
  const bool full = plan.serving.running >= static_cast<double>(room);
  const char* limit = bound == "kv cache" || full    ? "the cache is full"
                      : bound == "seats"             ? "every seat is taken"
                      : bound == "rate"              ? "the rate asks for no more"
                      : request.workload.concurrency ? "no more were asked for"
                      : has_target                   ? "the latency targets allow no more"
                                                     : "more would gain nothing";
  return fmt::format("{} requests run at once in each instance, room for {}: {}", format_count(plan.serving.running),
                     format_count(static_cast<double>(room)), limit);
}

void compare(const PlanResult& result, Explanation& out) {
  if (result.plans.size() < 2) return;
  const bool simulated = result.plans[0].simulated && result.plans[1].simulated;
  const Said first = said_of(result.plans[0], simulated);
  const Said second = said_of(result.plans[1], simulated);
  out.margin_ratio = second.score > 0 ? first.score / second.score - 1 : 0;
  out.runner_up = fmt::format("{} is {:.1f} % behind{}: {}", short_text(result.plans[1].config), out.margin_ratio * 100,
                              simulated ? ", simulated" : "", text_of(second));
}

}  // namespace

Explanation explain(const PlanRequest& request, const PlanResult& result) {
  Explanation out;
  out.families = result.rejected;
  out.nearest_feasible = result.nearest_feasible;
  if (result.plans.empty()) return out;
  const Plan& plan = result.plans.front();
  out.found = true;
  out.winner = winner_text(request, plan);
  out.shares = shares_of(request, plan);
  if (!out.shares.empty()) {
    out.binds = fmt::format("{} takes {:.0f} % of a token's time: {}", out.shares.front().what,
                            out.shares.front().share_ratio * 100, meaning_of(out.shares.front().what));
  }
  out.capacity = capacity_text(request, plan);
  if (plan.serving.decode_drops) out.drops = "in a decode step " + dropped_text(plan.serving.decode_drops);
  compare(result, out);
  out.sensitivity = sensitivities(request, result);
  return out;
}

}  // namespace shardplan
