// One rank's walk through the graphs of a program.
#pragma once

#include <vector>

#include "calibrate/executor.h"
#include "calibrate/graph_plan.h"
#include "calibrate/nodes/rank_state.h"

namespace shardplan {

struct RankRunnerOptions {
  int ranks = 1;                // of a stage
  bool invent_prefix = false;
  bool drop_dead = false;       // values go when their last reader is done
  bool count_live = false;      // what is live after each node
};

class RankRunner {
 public:
  RankRunner(Endpoint& endpoint, const RankContext& context, RankRunnerOptions options);

  // The values of one graph; what is left of them with drop_dead.
  std::vector<LocalArray> run(const GraphPlan& plan, std::int64_t layer, int step);
  // To the same rank of the next stage, padded to the largest part.
  void pass_on();
  [[nodiscard]] const HeldBytes& held() const { return held_; }

 private:
  void take_residual(RankState& state, int step);
  void run_node(RankState& state, std::size_t index, int step);
  void count_live(const RankState& state, std::size_t index);
  void keep_residual(const RankState& state, const GraphPlan& plan, int step);

  Endpoint& endpoint_;
  const RankContext& context_;
  RankRunnerOptions options_;
  int stage_;
  int rank_;
  LocalArray residual_;
  ValueId residual_value_ = -1;
  int last_step_ = -1;
  const GraphPlan* last_ = nullptr;   // graph that `residual_` came from
  std::int64_t stores_ = 0;           // nodes run so far
  HeldBytes held_;
};

}  // namespace shardplan
