// The steady state in closed form against the simulator, where its assumptions hold: one pool, equal lengths, a closed
// loop that fits the cache and the seats.
#include <string>

#include "planner/cluster.h"
#include "planner/deployment.h"
#include "planner/simulate.h"
#include "tests/catch.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

struct Both {
  ServingEstimate estimate;
  SimulationResult simulated;
};

Both ask(const PlanRequest& request, const ParallelConfig& config, std::int64_t requests) {
  const Cluster cluster(request, config.instance_gpus());
  Deployment deployment(request, config, {}, cluster.collectives());
  return {.estimate = estimate_serving(deployment.serving_input(), request.workload),
          .simulated = simulate_config(request, config, {.requests = requests}, {})};
}

// Throughput: the closed form leaves the server path (20 ms of a second and more) out of the loop; the simulator's average
// holds the ramp at both ends of the run. TPOT: equal lengths that start together go on in lockstep, so that prompts wait
// for one another (a longer TTFT) instead of stretching everybody's decodes; beyond a few users the sum alone agrees.
TEST_CASE("A closed loop of equal requests agrees with the steady state") {
  for (const ParallelConfig& config : {degrees(1), degrees(2), degrees(4)}) {
    for (const std::int64_t users : {1, 4, 16}) {
      INFO("tp" << config.tp << ", " << users << " users");
      const Both both = ask(request_for({.engine = "vllm", .concurrency = users}), config, 40 * users);
      CHECK(both.simulated.requests.completed == 40 * users);
      CHECK(both.simulated.requests.preempted == 0);
      if (users <= 4) CHECK(both.simulated.tpot.mean.value() == Approx(both.estimate.tpot.value()).epsilon(0.10));
      CHECK(both.simulated.e2e.mean.value() == Approx(both.estimate.e2e.value()).epsilon(0.05));
      CHECK(both.simulated.output_tokens_per_second == Approx(both.estimate.output_tokens_per_second).epsilon(0.10));
    }
  }
}

TEST_CASE("Lockstep moves waiting from TPOT to TTFT, and leaves throughput as it is") {
  const Both both = ask(request_for({.engine = "vllm", .concurrency = 64}), degrees(2), 2560);
  CHECK(both.simulated.tpot.mean < both.estimate.tpot);
  CHECK(both.simulated.ttft.mean > both.estimate.ttft);
  CHECK(both.simulated.output_tokens_per_second == Approx(both.estimate.output_tokens_per_second).epsilon(0.05));
}

}  // namespace
}  // namespace shardplan
