#include <tbb/global_control.h>

#include "tests/catch.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

// Everything of a result that is printed, bit for bit.
std::string text_of(const PlanResult& result) {
  std::string text;
  const auto add = [&text](const Plan& plan) {
    text += short_text(plan.config) + " " + std::to_string(plan.max_batched_tokens) + " ";
    for (const double x :
         {plan.score, plan.serving.ttft.value(), plan.serving.tpot.value(), plan.serving.concurrency}) {
      char bits[64];
      (void)std::snprintf(bits, sizeof bits, "%a ", x);
      text += bits;
    }
    text += "\n";
  };
  for (const Plan& plan : result.plans) add(plan);
  for (const Plan& plan : result.pareto) add(plan);
  for (const Rejection& r : result.rejected)
    text += r.family + r.rule + r.message + std::to_string(r.count) + short_text(r.config) + "\n";
  for (const std::string& line : result.nearest_feasible) text += line + "\n";
  return text + std::to_string(result.stats.considered) + " " + std::to_string(result.stats.fitting) + " " +
         std::to_string(result.stats.priced);
}

TEST_CASE("A search gives the same bits with one thread and with several") {
  for (const Ask& ask : {Ask{.model = "qwen3-235b-a22b", .gpus = 16, .isl = 2048, .osl = 512, .tpot_ms = 40},
                         Ask{.model = "deepseek-v3", .gpus = 8, .engine = "vllm", .concurrency = 64},
                         Ask{.model = "llama-3.1-405b", .hardware = "h100-sxm", .gpus = 8}}) {
    const PlanRequest request = request_for(ask);
    std::string texts[2];
    for (const std::size_t threads : {1, 4}) {
      const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
      texts[threads == 1 ? 0 : 1] = text_of(search_plans(request));
    }
    CHECK(texts[0] == texts[1]);
  }
}

}  // namespace
}  // namespace shardplan
