// One side of a pair of pools: what it is asked, which instances could do it, and how a number of them does at a rate.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/cluster.h"
#include "planner/deployment.h"
#include "planner/plan.h"

namespace shardplan {

// The question that a pool of prompts alone answers: one output token, no TPOT.
[[nodiscard]] PlanRequest prefill_request(const PlanRequest& request);
// The question that a pool of answers alone answers: all of the prompt but a token is cached, no TTFT.
[[nodiscard]] PlanRequest decode_request(const PlanRequest& request);

struct PoolCandidate {
  Plan plan;                       // one instance
  double requests_per_second = 0;  // of it, within the side's targets
};

// The best few instances of every size, smallest first. Sizes are powers of two below the budget, which holds an
// instance of the other side too; larger ones are not looked at once two in a row did clearly less for each GPU.
[[nodiscard]] std::vector<PoolCandidate> pool_candidates(const PlanRequest& side);

class PoolSide {
 public:
  PoolSide(PlanRequest side, const Plan& plan, std::int64_t instances);
  PoolSide(const PoolSide&) = delete;
  PoolSide& operator=(const PoolSide&) = delete;

  [[nodiscard]] const ParallelConfig& config() const { return deployment_.config(); }
  // Requests/s that all instances complete with every place taken.
  [[nodiscard]] double most() const { return most_; }
  // All instances at `rate` requests/s.
  [[nodiscard]] ServingEstimate at(double rate);

 private:
  PlanRequest request_;
  Cluster cluster_;
  Deployment deployment_;
  double most_ = 0;
};

}  // namespace shardplan
