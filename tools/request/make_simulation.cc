#include "tools/request/make_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/errors.h"
#include "tools/cli/values.h"
#include "tools/request/limits.h"

namespace shardplan {
namespace {

void refuse(bool contradicts, const char* flag, const char* what, const char* hint) {
  if (contradicts) throw InputError(flag, what, hint);
}

constexpr double kMostVariation = 100;
constexpr double kMostSeconds = 1e6;

// "name:rest" -> rest, when the name is this one.
std::optional<std::string> after(const std::string& text, const std::string& name) {
  if (text.rfind(name + ":", 0) != 0) return std::nullopt;
  return text.substr(name.size() + 1);
}

void set_ramp(SimulatedTraffic& traffic, const std::string& law) {
  const std::size_t colon = law.find(':');
  if (colon == std::string::npos) throw InputError("--arrival", "\"ramp:" + law + "\" says no duration", "ramp:1:60, say");
  const std::string from = law.substr(0, colon);
  traffic.arrival = Arrival::kRamp;
  traffic.ramp_from = from == "0" ? 0 : parse_number(from, "--arrival", {0, kMostRequestsPerSecond});
  traffic.ramp_over = Seconds(parse_number(law.substr(colon + 1), "--arrival", {0, kMostSeconds}));
}

void set_arrival(SimulatedTraffic& traffic, const std::string& law) {
  if (const auto variation = after(law, "gamma")) {
    traffic.arrival = Arrival::kGamma;
    traffic.gamma_cv_ratio = parse_number(*variation, "--arrival", {0, kMostVariation});
    return;
  }
  if (const auto ramp = after(law, "ramp")) return set_ramp(traffic, *ramp);
  const std::vector<std::string> laws = {"poisson", "even", "gamma:CV", "ramp:R:S"};
  const std::size_t choice = law.empty() ? 0 : parse_choice(law, "--arrival", laws);
  if (choice >= 2) throw InputError("--arrival", "\"" + law + "\" names no number", "gamma:2 or ramp:1:60, say");
  traffic.arrival = choice == 1 ? Arrival::kEven : Arrival::kPoisson;
}

void set_lengths(SimulatedTraffic& traffic, const std::string& law) {
  if (const auto variation = after(law, "lognormal")) {
    traffic.length_cv_ratio = parse_number(*variation, "--lengths", {0, kMostVariation});
    return;
  }
  if (law.empty()) return;
  if (parse_choice(law, "--lengths", {"fixed", "lognormal:CV"}) == 1) {
    throw InputError("--lengths", "\"lognormal:CV\" names no number", "lognormal:1, say");
  }
}

void check_traffic(const TrafficFlags& t, const WorkloadFlags& w, bool finds_rate) {
  const bool traced = !t.trace.empty();
  refuse(w.confidence.has_value(), "--confidence", "is of predictions, and what is simulated has no interval", "plan or estimate");
  refuse(!traced && !t.trace_format.empty(), "--trace-format", "is the format of no trace", "--trace beside it");
  refuse(!traced && t.trace_speed, "--trace-speed", "is the speed of no trace", "--trace beside it");
  refuse(traced && (w.isl || w.osl), "--trace", "has the lengths of its requests", "no --isl or --osl beside it");
  refuse(traced && (t.length_ratio || !t.lengths.empty()), t.length_ratio ? "--length-ratio" : "--lengths",
         "contradicts --trace, which has the lengths", "one of them");
  refuse(t.length_ratio && !t.lengths.empty(), "--length-ratio", "contradicts --lengths", "one of them");
  refuse(traced && (w.prefix || t.turns), w.prefix ? "--prefix" : "--turns", "contradicts --trace: its block hashes say what is shared",
         "one of them");
  refuse(t.pause_seconds && t.turns.value_or(1) == 1, "--pause-seconds", "is between the turns of a conversation", "--turns 2 or more");
  refuse(t.trace_speed && (w.concurrency || w.request_rate), "--trace-speed", "is of recorded arrivals, which --concurrency and --request-rate replace",
         "one of them");
  refuse(!t.arrival.empty() && !w.request_rate, "--arrival", "is the law of no rate", "--request-rate beside it");
  refuse(!traced && !w.concurrency && !w.request_rate && !finds_rate, "--concurrency", "is missing", "--concurrency, --request-rate or --trace");
}

void check_capacity(const RequestFlags& flags) {
  const CapacityFlags& c = flags.simulate.capacity;
  const WorkloadFlags& w = flags.workload;
  refuse(c.attainment && !c.find_rate, "--attainment", "is a condition of the search for a rate", "--find-rate beside it");
  if (!c.find_rate) return;
  refuse(w.concurrency || w.request_rate, "--find-rate", "looks for the load itself", "no --concurrency or --request-rate beside it");
  refuse(!w.ttft_ms && !w.tpot_ms && !w.e2e_ms, "--find-rate", "needs a target to meet", "--ttft-ms, --tpot-ms or --e2e-ms");
}

SimulatedTraffic synthetic_traffic(const TrafficFlags& t, const WorkloadFlags& w) {
  SimulatedTraffic traffic{.trace = t.trace, .trace_format = t.trace_format};
  traffic.requests = t.requests.value_or(0);
  traffic.length_ratio = t.length_ratio.value_or(1);
  traffic.seed = static_cast<std::uint64_t>(t.seed.value_or(0));
  traffic.trace_speed_ratio = t.trace_speed.value_or(1);
  traffic.turns = t.turns.value_or(1);
  traffic.prefix_tokens = w.prefix.value_or(0);
  traffic.pause = Seconds(t.pause_seconds.value_or(0));
  return traffic;
}

// "R@AT:UNTIL" or "rank:R@AT:UNTIL", after "prefill:" or "decode:" where there are two pools.
ReplicaFault parse_fault(const std::string& text, const ParallelConfig& config, const ParallelConfig* decode) {
  const std::string where = "--faults";
  const auto of_pool = [&](const char* name) { return decode != nullptr && text.rfind(std::string(name) + ":", 0) == 0; };
  const bool of_decode = of_pool("decode");
  const std::string own = of_decode || of_pool("prefill") ? text.substr(text.find(':') + 1) : text;
  const bool rank = own.rfind("rank:", 0) == 0;
  const std::string rest = rank ? own.substr(5) : own;
  const std::size_t at = rest.find('@');
  const std::size_t colon = rest.find(':', at == std::string::npos ? 0 : at);
  const bool named = decode == nullptr || own.size() < text.size();
  if (at == std::string::npos || colon == std::string::npos || !named) {
    throw InputError(where, "\"" + text + "\" is no fault",
                     decode == nullptr ? "REPLICA@FROM:UNTIL in seconds, as 0@30:90" : "prefill:REPLICA@FROM:UNTIL or decode:REPLICA@FROM:UNTIL in seconds");
  }
  const ParallelConfig& of = of_decode ? *decode : config;
  const std::int64_t parts = rank ? of.gpus() : of.replicas;
  const std::int64_t number = parse_count(rest.substr(0, at), where, {0, parts - 1});
  const auto seconds = [&](const std::string& s) { return sim_time(Seconds(s == "0" ? 0 : parse_number(s, where, {0, kMostSeconds}))); };
  const ReplicaFault fault{.replica = static_cast<std::int32_t>(rank ? number / of.instance_gpus() : number),
                           .of_decode_pool = of_decode,
                           .at = seconds(rest.substr(at + 1, colon - at - 1)),
                           .until = seconds(rest.substr(colon + 1))};
  if (fault.until < fault.at) throw InputError(where, "\"" + text + "\" is back before it is lost", "FROM before UNTIL");
  return fault;
}

std::vector<ReplicaFault> parse_faults(const std::string& text, const ParallelConfig& config, const ParallelConfig* decode) {
  std::vector<ReplicaFault> faults;
  for (const std::string& part : split_list(text)) faults.push_back(parse_fault(part, config, decode));
  return faults;
}

// "AT=RANKS,..".
ScaleChoice make_scales(const ScaleFlags& flags, const ParallelConfig& config) {
  const std::string where = "--scale";
  ScaleChoice choice;
  refuse(flags.scale.empty() && (flags.drain_seconds || flags.switch_seconds), flags.drain_seconds ? "--scale-drain" : "--scale-switch-seconds",
         "is of no scale event", "--scale beside it");
  if (flags.scale.empty()) return choice;
  refuse(!config.variant.elastic_ep, "--scale", "is of an instance whose ranks are fixed", "--elastic-ep beside it");
  for (const std::string& part : split_list(flags.scale)) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) throw InputError(where, "\"" + part + "\" is no scale event", "AT=RANKS, as 60=16");
    const std::string at = part.substr(0, equals);
    choice.asks.push_back({.at = Seconds(at == "0" ? 0 : parse_number(at, where, {0, kMostSeconds})),
                           .ranks = parse_count(part.substr(equals + 1), where, {1, kMostGpus})});
    const bool in_time = choice.asks.size() < 2 || choice.asks[choice.asks.size() - 2].at <= choice.asks.back().at;
    if (!in_time) throw InputError(where, "\"" + part + "\" is before the event ahead of it", "events in time");
  }
  if (flags.drain_seconds) choice.drain = Seconds(*flags.drain_seconds);
  if (flags.switch_seconds) choice.fixed = Seconds(*flags.switch_seconds);
  return choice;
}

SchedulingChoice make_scheduling(const SchedulingFlags& s) {
  SchedulingChoice choice;
  choice.scheduler = s.scheduler;
  if (!s.chunked_prefill.empty()) choice.chunked_prefill = s.chunked_prefill == "on";
  choice.async_scheduling = !s.synchronous;
  choice.prefix_caching = !s.no_prefix_caching;
  choice.skip_ahead = !s.one_by_one;
  choice.mixed_chunk = s.mixed_chunk;
  choice.draws_routing = s.draw_routing;
  choice.long_prompt_tokens = s.long_prompt_tokens.value_or(0);
  choice.hold_steps = s.batch_wait_iterations.value_or(0);
  choice.hold_ratio = s.batch_wait_ratio.value_or(choice.hold_ratio);
  choice.balance_steps = s.balance_iterations.value_or(0);
  if (s.tbt_ms) choice.tbt = Seconds(*s.tbt_ms * kMilli);
  return choice;
}

TierChoice make_tiers(const TierFlags& t) {
  const auto bytes = [](const std::optional<double>& gigabytes) { return Bytes(static_cast<std::int64_t>(gigabytes.value_or(0) * 1e9)); };
  refuse(t.remote_gbps && !t.remote_gb, "--remote-cache-gbps", "is the rate of no store", "--remote-cache-gb beside it");
  TierChoice choice{.host = bytes(t.host_gb), .remote = bytes(t.remote_gb)};
  if (t.remote_gbps) choice.remote_rate = BytesPerSecond(*t.remote_gbps * 1e9 / 8);
  return choice;
}

ParallelConfig pool_config(const RequestFlags& flags, const PoolFlags& pool, const ModelSpec& model) {
  ParallelFlags p = flags.parallel;
  p.config.replicas = pool.replicas.value_or(1);
  const auto set = [&p](const char* name, std::int64_t ParallelConfig::*member, const std::optional<std::int64_t>& value) {
    if (!value) return;
    p.config.*member = *value;
    if (!p.has(name)) p.given.emplace_back(name);
  };
  set("tp", &ParallelConfig::tp, pool.tp);
  set("pp", &ParallelConfig::pp, pool.pp);
  set("dpa", &ParallelConfig::dpa, pool.dpa);
  set("pcp", &ParallelConfig::pcp, pool.pcp);
  set("dcp", &ParallelConfig::dcp, pool.dcp);
  set("ep", &ParallelConfig::ep, pool.ep);
  set("moe_tp", &ParallelConfig::moe_tp, pool.moe_tp);
  check_parallel_flags(p);
  return complete_config(p, model, 0);
}

}  // namespace

SimulatedTraffic make_traffic(RequestFlags& flags) {
  const TrafficFlags& t = flags.simulate.traffic;
  WorkloadFlags& w = flags.workload;
  check_traffic(t, w, flags.simulate.capacity.find_rate);
  check_capacity(flags);
  SimulatedTraffic traffic = synthetic_traffic(t, w);
  set_arrival(traffic, t.arrival);
  set_lengths(traffic, t.lengths);
  Workload workload{.concurrency = w.concurrency, .requests_per_second = w.request_rate};
  if (flags.simulate.capacity.find_rate) workload.requests_per_second = 1;
  workload.isl = w.isl.value_or(workload.isl);
  workload.osl = w.osl.value_or(workload.osl);
  refuse(traffic.prefix_tokens >= workload.isl, "--prefix", "leaves nothing of a prompt to compute", "less than --isl");
  traffic.nominal = {.prompt_tokens = workload.isl - traffic.prefix_tokens, .output_tokens = workload.osl};
  const RequestLengths longest = sizing_lengths(traffic, workload);
  w.isl = longest.prompt_tokens;
  w.osl = longest.output_tokens;
  return traffic;
}

SimulationSettings make_simulation_settings(const RequestFlags& flags, const ParallelConfig& config, const ParallelConfig* decode) {
  const SimulateFlags& s = flags.simulate;
  SimulationSettings settings;
  settings.scheduling = make_scheduling(s.scheduling);
  if (!s.scheduling.router.empty()) settings.routing.router = s.scheduling.router;
  settings.routing.sees_groups = !s.scheduling.router_sees_instances;
  settings.tiers = make_tiers(s.tiers);
  settings.faults = parse_faults(s.faults.faults, config, decode);
  settings.scales = make_scales(s.scales, config);
  if (!settings.scales.asks.empty()) {
    refuse(decode != nullptr, "--scale", "is of one pool, and there are two", "no --prefill-* and --decode-*");
    refuse(!settings.faults.empty(), "--scale", "contradicts --faults", "one of them");
    refuse(s.tiers.host_gb || s.tiers.remote_gb, "--scale", "contradicts lower tiers of cache", "one of them");
    refuse(s.scheduling.draw_routing, "--scale", "contradicts --draw-routing, which is of one layout", "one of them");
    refuse(s.capacity.find_rate, "--scale", "contradicts --find-rate", "one of them");
  }
  settings.requeue_lost = s.faults.policy != "fail";
  settings.max_waiting = s.scheduling.max_waiting.value_or(0);
  if (s.traffic.stop_after_seconds) settings.stop_after = Seconds(*s.traffic.stop_after_seconds);
  refuse(s.scheduling.draw_routing && config.variant.capacity_factor_ratio > 0, "--draw-routing", "contradicts --capacity-factor, which caps the busiest rank of a step",
         "one of them");
  refuse(!s.faults.policy.empty() && settings.faults.empty() && settings.scales.asks.empty(), "--fault-policy", "is of no fault", "--faults or --scale beside it");
  return settings;
}

std::optional<PoolConfigs> make_pools(const RequestFlags& flags, const ModelSpec& model) {
  const SimulateFlags& s = flags.simulate;
  if (!s.prefill.given() && !s.decode.given()) return std::nullopt;
  if (flags.parallel.has("replicas") || flags.machine.gpus) {
    throw InputError(flags.machine.gpus ? "--gpus" : "--replicas", "is of one pool, and there are two", "--prefill-replicas and --decode-replicas");
  }
  return PoolConfigs{.prefill = pool_config(flags, s.prefill, model), .decode = pool_config(flags, s.decode, model)};
}

}  // namespace shardplan
