#include "tools/documents/serving_document.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace shardplan {

void add_interval(Document& to, const char* key, double spread) {
  const double value = to[key];
  const double wide = std::exp(kP90 * spread);
  to[std::string(key) + "_p10"] = value / wide;
  to[std::string(key) + "_p90"] = value * wide;
}

namespace {

Document speculation_document(const SpeculationGain& gain) {
  Document document = {{"tokens_per_step", gain.tokens_per_step},
                       {"step_ratio", gain.step_ratio},
                       {"plain_tpot_seconds", gain.plain_tpot.value()},
                       {"break_even_acceptance", nullptr}};
  if (gain.break_even_acceptance) document["break_even_acceptance"] = *gain.break_even_acceptance;
  return document;
}

}  // namespace

Document drops_document(const ExpertDrops& drops) {
  return {{"capacity_factor", drops.capacity_factor_ratio}, {"tokens", drops.tokens}, {"capacity_tokens", drops.capacity},
          {"hottest_expert_tokens", drops.hottest_tokens}, {"dropped_ratio", drops.dropped_ratio}};
}

Document serving_document(const ServingEstimate& serving) {
  Document document = {{"feasible", serving.feasible}};
  if (!serving.reason.empty()) document["reason"] = serving.reason;
  document.update({{"concurrency", serving.concurrency},
                   {"running_per_instance", serving.running},
                   {"bound", serving.bound},
                   {"ttft_seconds", serving.ttft.value()},
                   {"ttft_prefill_seconds", serving.ttft_prefill.value()},
                   {"ttft_queue_seconds", serving.ttft_queue.value()},
                   {"ttft_host_seconds", serving.ttft_host.value()},
                   {"tpot_seconds", serving.tpot.value()},
                   {"decode_step_seconds", serving.decode_step.value()},
                   {"prefill_extra_seconds", serving.prefill_extra.value()},
                   {"e2e_seconds", serving.e2e.value()},
                   {"requests_per_second", serving.requests_per_second},
                   {"output_tokens_per_second", serving.output_tokens_per_second},
                   {"output_tokens_per_second_per_gpu", serving.output_tokens_per_second_per_gpu},
                   {"tokens_per_second_per_user", serving.tokens_per_second_per_user}});
  if (serving.speculation) document["speculation"] = speculation_document(*serving.speculation);
  if (serving.decode_drops) document["decode_drops"] = drops_document(*serving.decode_drops);
  if (serving.prefill_drops) document["prefill_drops"] = drops_document(*serving.prefill_drops);
  if (serving.spread.tpot > 0) {
    add_interval(document, "ttft_seconds", serving.spread.ttft);
    add_interval(document, "tpot_seconds", serving.spread.tpot);
    for (const char* key : {"e2e_seconds", "requests_per_second", "output_tokens_per_second", "output_tokens_per_second_per_gpu"}) {
      add_interval(document, key, serving.spread.end_to_end);
    }
    add_interval(document, "decode_step_seconds", serving.spread.tpot);
    add_interval(document, "tokens_per_second_per_user", serving.spread.tpot);
  }
  return document;
}

Document simulated_document(const SimulatedServing& s) {
  return {{"rank_before", s.rank_before},
          {"meets_targets", s.meets_targets},
          {"score", s.score},
          {"ttft_seconds", s.ttft.value()},
          {"ttft_p99_seconds", s.ttft_p99.value()},
          {"tpot_seconds", s.tpot.value()},
          {"tpot_p99_seconds", s.tpot_p99.value()},
          {"e2e_seconds", s.e2e.value()},
          {"output_tokens_per_second", s.output_tokens_per_second},
          {"output_tokens_per_second_per_gpu", s.output_tokens_per_second_per_gpu},
          {"preempted", s.preempted},
          {"rejected", s.rejected}};
}

}  // namespace shardplan
