#include "tools/documents/serving_document.h"

#include <nlohmann/json.hpp>

namespace shardplan {

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
  return document;
}

}  // namespace shardplan
