#include "planner/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/units.h"
#include "planner/cluster.h"
#include "planner/deployment.h"
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

std::string winner_text(const PlanRequest& request, const Plan& plan) {
  return fmt::format("{} on {} of {} GPUs: {:.0f} output tokens/s per GPU, TTFT {}, TPOT {} at {:.0f} requests at once",
                     short_text(plan.config), plan.config.gpus(), request.gpus,
                     plan.serving.output_tokens_per_second_per_gpu, format_seconds(plan.serving.ttft),
                     format_seconds(plan.serving.tpot), plan.serving.concurrency);
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
  return fmt::format("{:.0f} requests run at once in each instance, room for {}: {}", plan.serving.running, room,
                     limit);
}

void compare(const PlanResult& result, Explanation& out) {
  if (result.plans.size() < 2) return;
  const Plan& first = result.plans[0];
  const Plan& second = result.plans[1];
  out.margin_ratio = second.score > 0 ? first.score / second.score - 1 : 0;
  out.runner_up =
      fmt::format("{} is {:.1f} % behind: {:.0f} output tokens/s per GPU, TTFT {}, TPOT {}", short_text(second.config),
                  out.margin_ratio * 100, second.serving.output_tokens_per_second_per_gpu,
                  format_seconds(second.serving.ttft), format_seconds(second.serving.tpot));
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
  compare(result, out);
  out.sensitivity = sensitivities(request, result);
  return out;
}

}  // namespace shardplan
