#include "tools/tables/serving_table.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/units.h"
#include "planner/dropped_picks.h"
#include "planner/speculation_gain.h"
#include "tools/tables/numbers.h"

namespace shardplan {
namespace {

std::string asked(const Workload& w, double in_flight) {
  std::string text = fmt::format("{} prompt tokens", whole(w.isl));
  if (w.prefix > 0) text += fmt::format(" ({} of them cached)", whole(w.prefix));
  text += ", " + counted(w.osl, "output token");
  if (w.requests_per_second) text += fmt::format(", {} requests/s", short_number(*w.requests_per_second));
  else text += fmt::format(", {} in flight", short_number(in_flight));
  return text;
}

double wide(double spread) { return std::exp(kP90 * spread); }

std::string range_of(Seconds value, double spread) { return time_text(value / wide(spread)) + " to " + time_text(value * wide(spread)); }

std::string one_target(const char* name, const std::optional<Seconds>& target, Seconds value, double margin_ratio) {
  if (!target) return "";
  const bool met = value * margin_ratio <= *target;
  const std::string margin = margin_ratio > 1 ? fmt::format(", {} with its margin", format_seconds(value * margin_ratio)) : "";
  return fmt::format("  {} at most {}: {} ({}{})\n", name, format_seconds(*target), met ? "met" : "missed", format_seconds(value), margin);
}

}  // namespace

std::string serving_table(const ServingEstimate& s, const Workload& workload, std::int64_t replicas) {
  std::string text = fmt::format("Serving {}\n", asked(workload, s.concurrency));
  if (!s.feasible) return text + fmt::format("  not possible: {}\n", s.reason);
  text += fmt::format("  running     {} requests in {}, limited by {}\n", short_number(s.running), replicas > 1 ? "each instance" : "the instance", s.bound);
  text += fmt::format("  TTFT        {} = prefill {} + queue {} + host {}\n", time_text(s.ttft), time_text(s.ttft_prefill),
                      time_text(s.ttft_queue), time_text(s.ttft_host));
  const bool goes_on = workload.osl > 1;  // else no token follows the first
  if (goes_on) text += fmt::format("  TPOT        {} (a decode step alone {}; each prompt takes {} from the others)\n", time_text(s.tpot),
                      time_text(s.decode_step), time_text(s.prefill_extra));
  text += fmt::format("  request     {} end to end, {} requests/s\n", time_text(s.e2e), short_number(s.requests_per_second));
  text += fmt::format("  throughput  {} output tokens/s, {} per GPU", short_number(s.output_tokens_per_second),
                      short_number(s.output_tokens_per_second_per_gpu));
  text += goes_on ? fmt::format(", {} per user\n", short_number(s.tokens_per_second_per_user)) : "\n";
  if (s.speculation) text += fmt::format("  drafts      {}\n", speculation_text(s));
  if (s.decode_drops) text += fmt::format("  dropped     {} (decode)\n", dropped_text(s.decode_drops));
  if (s.prefill_drops) text += fmt::format("              {} (prompts)\n", dropped_text(s.prefill_drops));
  if (s.spread.tpot > 0) {
    text += fmt::format("  intervals   TTFT {}{}, per GPU {} to {} tokens/s (p10 to p90)\n", range_of(s.ttft, s.spread.ttft),
                        goes_on ? ", TPOT " + range_of(s.tpot, s.spread.tpot) : "", short_number(s.output_tokens_per_second_per_gpu / wide(s.spread.end_to_end)),
                        short_number(s.output_tokens_per_second_per_gpu * wide(s.spread.end_to_end)));
  }
  return text;
}

std::string targets_line(const ServingEstimate& s, const Targets& t) {
  return one_target("TTFT", t.ttft, s.ttft, t.margin_ratio(s.spread.ttft)) + one_target("TPOT", t.tpot, s.tpot, t.margin_ratio(s.spread.tpot)) +
         one_target("request", t.e2e, s.e2e, t.margin_ratio(s.spread.end_to_end));
}

}  // namespace shardplan
