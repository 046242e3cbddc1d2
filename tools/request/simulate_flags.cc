#include "tools/request/simulate_flags.h"

#include <utility>

#include "sim/routers/router.h"
#include "sim/schedulers/scheduler.h"
#include "sim/workloads/trace.h"
#include "tools/cli/flag_builders.h"
#include "tools/request/limits.h"
#include "tools/request/request_flags.h"

namespace shardplan {
namespace {

constexpr double kMostRatio = 1e6;
constexpr double kMostSeconds = 1e6;
constexpr double kMostGigabytes = 1e9;

// A flag whose value is the name of a row.
template <class Rows>
Flag row_flag(std::string name, std::string help, std::string& target, const Rows& rows) {
  Choices<std::string> choices;
  for (const auto& row : rows) choices.emplace_back(row.name, row.name);
  return choice_flag<std::string>(std::move(name), std::move(help), target, std::move(choices));
}

FlagGroup traffic_flags(TrafficFlags& t) {
  return {"Single requests",
          {text_flag("--trace", "FILE",
                     "recorded requests instead of --isl and --osl; arrivals too, without a load of one's own", t.trace),
           row_flag("--trace-format", "how --trace is written (by its first line)", t.trace_format, trace_formats()),
           number_flag("--trace-speed", "F", "recorded arrivals come F times as fast (1)", t.trace_speed, {0, kMostRatio}),
           count_flag("--requests", "how many are sent (1000; a replayed trace: all of it)", t.requests, {1, kMostRequests}),
           number_flag("--length-ratio", "F", "lengths are uniform from F*isl to isl, and so for osl (1: all equal)",
                       t.length_ratio, {0, 1}),
           text_flag("--lengths", "LAW", "fixed (default), or lognormal:CV around --isl and --osl", t.lengths),
           text_flag("--arrival", "LAW",
                     "gaps under --request-rate: poisson (default), even, gamma:CV, or ramp:R:S from R requests/s over S "
                     "seconds",
                     t.arrival),
           count_flag("--turns", "requests of one conversation: each repeats what was said before (1)", t.turns,
                      {1, kMostBlock}),
           number_flag("--pause-seconds", "S", "mean time from an answer to the next turn (0)", t.pause_seconds,
                       {0, kMostSeconds}),
           number_flag("--stop-after-seconds", "S", "no request arrives later; what is under way ends", t.stop_after_seconds,
                       {0, kMostSeconds}),
           count_flag("--seed", "of every random draw (0)", t.seed, {0, kMostRequests})}};
}

FlagGroup scheduling_flags(SchedulingFlags& s) {
  return {"Scheduling",
          {row_flag("--scheduler", "who shares a step (the engine's; vllm)", s.scheduler, schedulers()),
           row_flag("--router", "which replica takes a request (round_robin)", s.router, routers()),
           switch_flag("--router-sees-instances",
                       "the router knows totals of an instance, not its attention groups, which take turns",
                       s.router_sees_instances),
           choice_flag<std::string>("--chunked-prefill", "whether a prompt may be cut over steps (the engine's)",
                                    s.chunked_prefill, {{"on", "on"}, {"off", "off"}}),
           count_flag("--long-prompt-tokens", "most tokens of one prompt in a step (no limit)", s.long_prompt_tokens,
                      {1, kMostTokens}),
           number_flag("--tbt-ms", "MS", "the token budget is the largest whose steps last no longer", s.tbt_ms,
                       {0, kMostMilliseconds}),
           switch_flag("--draw-routing", "experts of each step are drawn from --expert-load: EP waits for the busiest rank of this step", s.draw_routing),
           switch_flag("--mixed-chunk", "SGLang: decodes join the steps of prompts", s.mixed_chunk),
           count_flag("--batch-wait-iterations", "TensorRT-LLM: most steps that prompts are held back (0)",
                      s.batch_wait_iterations, {0, kMostBlock}),
           number_flag("--batch-wait-ratio", "F", "of the token budget queued, which ends that wait (0.9)",
                       s.batch_wait_ratio, {0, 1}),
           count_flag("--balance-iterations",
                      "TensorRT-LLM: most steps that prompts wait until every attention group has one (0)",
                      s.balance_iterations, {0, kMostBlock}),
           switch_flag("--synchronous", "a step is planned when the one before has ended, not while it runs", s.synchronous),
           switch_flag("--no-prefix-caching", "every prompt is computed whole", s.no_prefix_caching),
           count_flag("--max-waiting", "requests in the deployment before newcomers are rejected (200,000)", s.max_waiting,
                      {1, kMostSequences}),
           switch_flag("--one-by-one", "takes no runs of decode steps in one go: slower, same answer", s.one_by_one)}};
}

FlagGroup tier_flags(TierFlags& t) {
  return {"Tiers of prefix cache below the device's",
          {number_flag("--host-cache-gb", "GB", "host memory of each instance that holds evicted prefixes (0)", t.host_gb, {0, kMostGigabytes}),
           number_flag("--remote-cache-gb", "GB", "store of prefixes that all instances share (0)", t.remote_gb, {0, kMostGigabytes}),
           number_flag("--remote-cache-gbps", "GBPS", "rate from that store to one GPU in Gb/s (its share of the NICs)", t.remote_gbps,
                       {0, kMostGigabits})}};
}

FlagGroup fault_flags(FaultFlags& f) {
  return {"Faults",
          {text_flag("--faults", "R@AT:UNTIL,..",
                     "replica R is lost at AT seconds and back at UNTIL; rank:R for the replica of a GPU; of two pools: prefill:R@.., decode:R@..", f.faults),
           choice_flag<std::string>("--fault-policy", "what becomes of its requests (requeue)", f.policy,
                                    {{"requeue", "requeue"}, {"fail", "fail"}})}};
}

FlagGroup scale_flags(ScaleFlags& s) {
  return {"Elastic expert parallelism (--elastic-ep)",
          {text_flag("--scale", "AT=RANKS,..", "at AT seconds each instance is asked to go on with RANKS ranks", s.scale),
           number_flag("--scale-drain", "S",
                       "newcomers wait and the switch waits for all requests to end, at most S seconds; else those of groups that go "
                       "start over (--fault-policy)",
                       s.drain_seconds, {0, kMostSeconds}),
           number_flag("--scale-switch-seconds", "S", "communicators and CUDA graphs of a switch, assumed (10)", s.switch_seconds, {0, kMostSeconds})}};
}

void add_pool_flags(FlagGroup& group, const std::string& role, PoolFlags& p) {
  const auto add = [&](const char* degree, const char* what, std::optional<std::int64_t>& target) {
    group.flags.push_back(count_flag("--" + role + "-" + degree, what + (" of the " + role + " pool"), target, {1, kMostGpus}));
  };
  add("replicas", "instances", p.replicas);
  add("tp", "--tp", p.tp);
  add("pp", "--pp", p.pp);
  add("dpa", "--dpa", p.dpa);
  if (role == "prefill") add("pcp", "--pcp", p.pcp);
  else add("dcp", "--dcp", p.dcp);
  add("ep", "--ep", p.ep);
  add("moe-tp", "--moe-tp", p.moe_tp);
}

FlagGroup pool_flags(SimulateFlags& s) {
  FlagGroup group{"Pools: prompts on one, answers on the other (what is not given is the common flag's)", {}};
  add_pool_flags(group, "prefill", s.prefill);
  add_pool_flags(group, "decode", s.decode);
  return group;
}

FlagGroup capacity_flags(CapacityFlags& c) {
  return {"Capacity",
          {switch_flag("--find-rate", "the largest request rate at which enough requests meet all targets, and the run at it",
                       c.find_rate),
           number_flag("--attainment", "F", "of the requests that arrive (0.9)", c.attainment, {0, 1})}};
}

}  // namespace

std::vector<FlagGroup> simulate_flags(RequestFlags& flags) {
  SimulateFlags& s = flags.simulate;
  std::vector<FlagGroup> groups = {traffic_flags(s.traffic), scheduling_flags(s.scheduling), tier_flags(s.tiers), fault_flags(s.faults), scale_flags(s.scales), pool_flags(s),
                                   capacity_flags(s.capacity)};
  for (FlagGroup& group : groups) group = recorded(std::move(group), flags);
  return groups;
}

}  // namespace shardplan
