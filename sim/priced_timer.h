// Step times from the one pricer that the planner asks too, and the host's part beside the kernels.
//
// Decode steps: the price at both ends of a cell of mean context (16 positions, or 1/16 of a power of two) and a line
// between; off by the second-order part of the price inside a cell, and by half a picosecond per position. Lines are kept
// in a direct-mapped table: bounded, and a value never depends on what was asked before.
// Mixed steps: chunks enter as `prompts` equal ones with the same tokens and the same (query, key) pairs; where tokens do
// not divide, between the prices of the two whole lengths around.
// Speculation: a step verifies the drafted tokens of every sequence and drafts anew, at the pricer's price, and yields
// tokens_per_step (costmodel/speculation.h) on average. The simulator's step yields one, so it takes that step's time over
// that number; a step with prompts takes the rest of its time whole. Wrong: gaps between tokens are smoothed, requests do
// not differ in luck. Wrong where long and short prompts share a step and
// the cost is not linear in pairs: windows, and reading each prompt's cached prefix.
#pragma once

#include <array>

#include "costmodel/speculation.h"
#include "costmodel/stages.h"
#include "costmodel/step_price.h"
#include "sim/step_timer.h"

namespace shardplan {

// What a step costs the host; the planner's HostCost has the same parts.
struct HostTimes {
  Seconds per_step;
  Seconds per_sequence;               // of one attention group
  Seconds per_layer;
  Seconds prefill_launch_per_layer;   // floor of a step with prompts: its launches are not captured
  std::int64_t groups = 1;            // attention groups that share the sequences
  double decode_ratio = 1;            // a deployment's own points: on all of a decode step
  double prefill_ratio = 1;           // and on what prompts add to it
  std::int64_t routing_groups = 0;    // EP groups that share a step's tokens, where routing is drawn step by step; 0: it is not
};

class PricedTimer : public StepTimer {
 public:
  // The pricer must outlive the timer; `speculation` drafts as many tokens as the pricer's graphs do.
  PricedTimer(const StepPricer& pricer, std::vector<StageLayers> stages, const HostTimes& host, const Speculation& speculation = {});
  [[nodiscard]] std::size_t stages() const override { return stages_.size(); }
  [[nodiscard]] DecodeTime decode(std::int64_t sequences, std::int64_t context) override;
  void mixed(const StepLoad& load, MixedTime& out) override;

 private:
  struct Cell {
    std::int64_t sequences = 0;       // 0: empty
    std::int64_t low = 0;             // mean context
    std::int64_t high = 0;
    TimeLine latency;
    RoutedPart routed;
  };
  [[nodiscard]] double routed_seconds(const BatchShape& plain) const;
  [[nodiscard]] RoutedPart routed_part(const BatchShape& shape) const;
  void fill(Cell& cell, TimeLine* lines);
  [[nodiscard]] double decode_seconds(const StageLayers& stage, const BatchShape& shape) const;
  [[nodiscard]] double stage_seconds(const StageLayers& stage, const BatchShape& shape, double behind = 0) const;
  [[nodiscard]] double fixed_seconds(const BatchShape& shape) const;
  void scale(const BatchShape& shape, double& fixed);
  void add_price(const BatchShape& shape, double behind, double weight_ratio, double& fixed);

  const StepPricer& pricer_;
  std::vector<StageLayers> stages_;
  HostTimes host_;
  Speculation speculation_;
  double yield_;                      // tokens of a decode step and sequence
  std::vector<Cell> cells_;
  std::vector<TimeLine> lines_;       // of a cell's stages
  std::vector<double> seconds_;       // of the mixed step under work
};

}  // namespace shardplan
