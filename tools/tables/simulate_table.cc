#include "tools/tables/simulate_table.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/table.h"
#include "base/units.h"
#include "planner/simulated_pool.h"
#include "tools/tables/estimate_table.h"
#include "tools/tables/movement_table.h"
#include "tools/tables/numbers.h"

namespace shardplan {
namespace {

std::string load_text(const SimulateAnswer& answer) {
  const Workload& w = answer.estimate.request.workload;
  if (w.concurrency) {
    const char* what = answer.traffic.turns > 1 ? "conversation" : "request";
    return fmt::format("{} at once in a closed loop", counted(*w.concurrency, what));
  }
  if (!w.requests_per_second) return answer.traffic.trace_speed_ratio == 1 ? "as recorded" : fmt::format("recorded arrivals {} times as fast", short_number(answer.traffic.trace_speed_ratio));
  if (answer.traffic.arrival == Arrival::kRamp) {
    return fmt::format("a ramp from {} to {} requests/s over {}", short_number(answer.traffic.ramp_from), short_number(*w.requests_per_second),
                       format_seconds(answer.traffic.ramp_over));
  }
  if (answer.traffic.arrival == Arrival::kEven) return fmt::format("{} requests/s, evenly", short_number(*w.requests_per_second));
  if (answer.traffic.arrival == Arrival::kPoisson) return fmt::format("{} requests/s, Poisson", short_number(*w.requests_per_second));
  return fmt::format("{} requests/s, gamma gaps of variation {}", short_number(*w.requests_per_second), short_number(answer.traffic.gamma_cv_ratio));
}

std::string lengths_text(const SimulateAnswer& answer) {
  const Workload& w = answer.estimate.request.workload;
  if (!answer.traffic.trace.empty()) return fmt::format("lengths of the trace (longest {} + {} tokens)", whole(w.isl), whole(w.osl));
  const SimulatedTraffic& t = answer.traffic;
  std::string most = fmt::format("{} prompt and {} output tokens", whole(t.nominal.prompt_tokens), whole(t.nominal.output_tokens));
  if (t.turns > 1) most = fmt::format("conversations of {} turns, each {}", t.turns, most);
  if (t.prefix_tokens > 0) most += fmt::format(" behind a shared prefix of {}", whole(t.prefix_tokens));
  if (t.length_cv_ratio > 0) return fmt::format("{} on average, lognormal of variation {}", most, short_number(t.length_cv_ratio));
  if (t.length_ratio == 1) return most;
  return fmt::format("{} to all of {}", in_percent(answer.traffic.length_ratio), most);
}

std::string requests_line(const SimulateAnswer& answer, const SimulationResult& r) {
  std::string text = fmt::format("  requests    {} arrived, {} completed, {} rejected", whole(r.requests.arrived), whole(r.requests.completed), whole(r.requests.rejected));
  if (r.requests.rejected_too_large > 0) text += fmt::format(" ({} never could fit: at most {} do)", whole(r.requests.rejected_too_large),
                                                              counted(answer.estimate.request.max_model_len, "token"));
  if (r.requests.failed > 0) text += fmt::format(", {} failed", whole(r.requests.failed));
  return text + fmt::format("; {}\n", counted(r.requests.preempted, "preemption"));
}

std::string scale_line(const ScaleRecord& s, std::int64_t ranks_per_group, const std::string& replica) {
  const std::string asked = format_seconds(to_seconds(s.asked));
  const std::string before = whole(s.groups_before * ranks_per_group);
  if (s.given_up) return fmt::format("  not scaled  {}{} ranks stay, asked at {}: requests did not end in time\n", replica, before, asked);
  const std::string change = fmt::format("{}{} ranks to {}, asked at {}", replica, before, whole(s.groups * ranks_per_group), asked);
  if (!s.ended) return fmt::format("  not scaled  {}: the run was over before\n", change);
  return fmt::format("  scaled      {}: nothing served from {} to {}, {} lost with their groups\n", change, format_seconds(to_seconds(s.paused)),
                     format_seconds(to_seconds(s.resumed)), counted(s.lost, "request"));
}

std::string scale_lines(const ParallelConfig& config, const SimulationResult& r) {
  std::string text;
  for (const ScaleRecord& s : r.scales)
    text += scale_line(s, config.tp * config.pcp, config.replicas > 1 ? fmt::format("replica {}, ", s.replica) : "");
  return text;
}

std::string throughput_lines(const SimulateAnswer& answer, const SimulationResult& r) {
  const ParallelConfig& config = answer.estimate.config;
  const auto gpus = static_cast<double>(answer.gpus());
  const double busy = r.busy_ratio / static_cast<double>(config.pp);   // of pp batches in flight
  std::string text = fmt::format("  throughput  {} output tokens/s ({} per GPU), {} input tokens/s\n", short_number(r.output_tokens_per_second),
                                 short_number(r.output_tokens_per_second / gpus), short_number(r.input_tokens_per_second));
  const Targets& t = answer.estimate.request.targets;
  if (t.ttft || t.tpot || t.e2e) {
    const double good = r.requests.arrived > 0 ? static_cast<double>(r.good_requests) / static_cast<double>(r.requests.arrived) : 0;
    text += fmt::format("  goodput     {} requests/s within the targets, {} of those that arrived\n", short_number(r.goodput_requests_per_second), in_percent(good));
  }
  text += fmt::format("  load        {} requests in the deployment on average; instances busy {} of the time\n", short_number(r.mean_requests), in_percent(busy));
  text += fmt::format("  time        {} of it in steps of decodes, {} mixed, {} of prompts, {} idle\n", in_percent(r.shares.decode_ratio), in_percent(r.shares.mixed_ratio),
                      in_percent(r.shares.prefill_ratio), in_percent(r.shares.idle_ratio));
  if (r.transferred_bytes_ratio > 0) text += fmt::format("  transfers   {} GB of cache between the pools, {} ms each on average\n", short_number(r.transferred_bytes_ratio / 1e9), in_milliseconds(r.transfer.mean));
  if (r.cached_tokens > 0) text += fmt::format("  cache       {} prompt tokens found cached\n", whole(r.cached_tokens));
  if (r.host_loaded_blocks + r.remote_loaded_blocks > 0) {
    text += fmt::format("  tiers       {} fetched from host memory, {} from the store\n", counted(r.host_loaded_blocks, "block"), whole(r.remote_loaded_blocks));
  }
  if (r.recomputed_tokens > 0) text += fmt::format("  recomputed  {} after preemptions\n", counted(r.recomputed_tokens, "token"));
  return text + fmt::format("  simulated   {} in {} and {}\n", format_seconds(r.simulated), counted(r.steps, "step"), counted(r.events, "event"));
}

// Beside them what the closed form says of the same traffic, where it can.
std::string times_table(const SimulateAnswer& answer, const SimulationResult& r) {
  const ServingEstimate& steady = answer.estimate.result.plan.serving;
  const bool known = has_steady_state(answer) && steady.feasible;
  std::vector<Table::Column> columns = {{"ms", Table::Align::kLeft}, {"mean"}, {"p50"}, {"p90"}, {"p99"}, {"max"}};
  if (known) columns.push_back({"steady state"});
  Table table(std::move(columns));
  const auto add = [&](const char* name, const TimeSummary& t, const std::string& beside) {
    std::vector<std::string> row = {name};
    for (const Seconds time : {t.mean, t.p50, t.p90, t.p99, t.max}) row.push_back(in_milliseconds(time));
    if (known) row.push_back(beside);
    table.add_row(std::move(row));
  };
  add("TTFT", r.ttft, in_milliseconds(steady.ttft));
  add("TPOT of a request", r.tpot, in_milliseconds(steady.tpot));
  add("between two tokens", r.itl, "");
  add("end to end", r.e2e, in_milliseconds(steady.e2e));
  add("before its first step", r.queue, "");
  return table.text(2);
}

std::string pool_lines(const EstimateAnswer& pool, const std::string& role) {
  const Ledger& ledger = pool.result.plan.ledger;
  std::string text = role + estimate_heading(pool);
  if (pool.result.lowered && !ledger.fits) text += "  does not fit: " + ledger.misfit + "\n";
  return text;
}

std::string recorded_lines(const AnswerErrors& e) {
  return fmt::format("\n  against the log, {}: TPOT {:.1f} % off on average, {:.1f} % median; TTFT {:.1f} %, {:.1f} % median; p50 and p90 of TTFT {:.2f} and {:.2f} of the measured\n",
                     counted(e.requests, "request"), e.tpot_mean_ratio * 100, e.tpot_median_ratio * 100, e.ttft_mean_ratio * 100, e.ttft_median_ratio * 100,
                     e.ttft_p50_ratio, e.ttft_p90_ratio);
}

std::string capacity_line(const Capacity& capacity, const RequestFlags& flags) {
  const std::string attainment = in_percent(flags.simulate.capacity.attainment.value_or(0.9));
  if (capacity.requests_per_second == 0) return fmt::format("  capacity    no rate: even a trickle does not meet the targets for {} of its requests\n", attainment);
  return fmt::format("  capacity    {} requests/s with {} of the requests within the targets ({} runs)\n", short_number(capacity.requests_per_second), attainment,
                     capacity.trials.size());
}

}  // namespace

std::string simulate_table(const SimulateAnswer& answer, const RequestFlags& flags) {
  const EstimateAnswer& estimate = answer.estimate;
  std::string text = pool_lines(estimate, answer.decode ? "prefill pool: " : "");
  if (answer.decode) text += pool_lines(*answer.decode, "decode pool: ");
  if (answer.capacity) text += capacity_line(*answer.capacity, flags);
  if (!answer.result) return text + "  not simulated\n";
  const std::string& asked = flags.simulate.scheduling.scheduler;
  const std::string scheduler = asked.empty() ? scheduler_of_engine(estimate.request) : asked;
  text += fmt::format("\nSimulated under the {} scheduler: {}; {}\n", scheduler, load_text(answer), lengths_text(answer));
  text += requests_line(answer, *answer.result) + scale_lines(estimate.config, *answer.result) + throughput_lines(answer, *answer.result) + "\n" + times_table(answer, *answer.result);
  if (!estimate.request.scale_to.empty()) text += "\n" + scaling_table(data_movement(estimate.request, estimate.result, estimate.steps));
  if (!answer.recorded.empty()) text += recorded_lines(errors_of(answer.recorded));
  if (answer.not_kept > 0) {
    text += fmt::format("\n  of single requests the first {} are kept: plots and comparisons with a log leave out {} more\n",
                        whole(std::ssize(answer.records)), whole(answer.not_kept));
  }
  return text;
}

}  // namespace shardplan
