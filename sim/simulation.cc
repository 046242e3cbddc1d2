#include "sim/simulation.h"

#include <chrono>

#include "sim/deployment_run.h"

namespace shardplan {

SimulationResult simulate(const SimulationInput& input) {
  const auto start = std::chrono::steady_clock::now();
  DeploymentRun run(input);
  SimulationResult result = run.run();
  result.wall = Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return result;
}

}  // namespace shardplan
