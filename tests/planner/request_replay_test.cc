// Recorded runs of vLLM, request by request: the machine is fitted on one run, the others are predicted.
//
// Published logs (ShareGPT lengths, about 10 requests/s, 300 requests): most of the time to the first token is queueing
// for a seat or for cache, so that a step law that gets the throughput right gets it right. Skipped where the logs are
// not there.
#include <string>

#include "tests/catch.h"
#include "tests/models/shared_data.h"
#include "tests/planner/recorded_fit.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

RecordedRun logged(const std::string& folder, const std::string& name, const char* model, const char* hardware,
                   std::int64_t tp, std::int64_t seats) {
  RecordedRun run{.request = request_for({.model = model, .hardware = hardware, .engine = "vllm"}),
                  .config = degrees(tp)};
  run.request.engine_version = "0.19";
  run.request.max_num_sequences = seats;
  run.request.max_batched_tokens = 2048;
  run.log = folder + "/" + name + "_requests.jsonl";
  run.answers = recorded_answers(run.log);
  return run;
}

// The logs do not say which edition of the card it was.
TEST_CASE("Recorded vLLM runs: fitted on one, the others are predicted request by request") {
  const auto folder = shared_path("measured/requests");
  if (!folder) return;
  const RecordedRun small =
      logged(*folder, "RTXPRO6000_Llama-3.1-8B", "llama-3.1-8b", "rtx-pro-6000-workstation", 1, 128);
  const RecordedRun large = logged(*folder, "RTXPRO6000_Qwen3-32B", "qwen3-32b", "rtx-pro-6000-workstation", 2, 128);
  const RecordedRun other = logged(*folder, "RTX4090_Llama-3.1-8B", "llama-3.1-8b", "rtx-4090", 1, 256);
  const MachineFactors factors = fit_machine(large);  // two GPUs: kernels and links are both seen
  INFO("bandwidth " << factors.bandwidth_ratio << ", arithmetic " << factors.arithmetic_ratio << ", link rate "
                    << factors.link_rate_ratio << ", link latency " << factors.link_latency_ratio);
  const AnswerErrors fitted = errors_of(replay(large, factors));
  INFO("fitted: TPOT " << fitted.tpot_mean_ratio << ", TTFT " << fitted.ttft_mean_ratio);
  CHECK(fitted.tpot_mean_ratio < 0.05);
  CHECK(fitted.ttft_mean_ratio < 0.15);
  const AnswerErrors same_gpu = errors_of(replay(small, factors));
  INFO("same GPU: TPOT " << same_gpu.tpot_mean_ratio << ", TTFT " << same_gpu.ttft_mean_ratio << " mean "
                         << same_gpu.ttft_median_ratio << " median");
  CHECK(same_gpu.tpot_mean_ratio < 0.05);
  CHECK(same_gpu.ttft_mean_ratio < 0.15);   // 11.2 %, most of it of those that waited for a step or two
  CHECK(same_gpu.ttft_median_ratio < 0.06);   // 5.6 %
  CHECK(same_gpu.ttft_p50_ratio == Approx(1).epsilon(0.15));
  CHECK(same_gpu.ttft_p90_ratio == Approx(1).epsilon(0.15));
  // Another GPU, by the first one's distance from its datasheet: its run lives at the edge of its cache.
  const AnswerErrors other_gpu = errors_of(
      replay(other, {.bandwidth_ratio = factors.bandwidth_ratio, .arithmetic_ratio = factors.arithmetic_ratio}));
  INFO("other GPU: TPOT " << other_gpu.tpot_mean_ratio << ", TTFT " << other_gpu.ttft_mean_ratio);
  CHECK(other_gpu.ttft_mean_ratio < 0.25);
}

}  // namespace
}  // namespace shardplan
