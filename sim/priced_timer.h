// Step times from the one pricer that the planner asks too, and the host's part beside the kernels.
//
// Decode steps: the price at both ends of a cell of mean context (16 positions, or 1/16 of a power of two) and a line
// between; off by the second-order part of the price inside a cell, and by half a picosecond per position. Lines are kept
// in a direct-mapped table: bounded, and a value never depends on what was asked before.
// Mixed steps: chunks enter as `prompts` equal ones with the same tokens and the same (query, key) pairs; where tokens do
// not divide, between the prices of the two whole lengths around.
// Speculation: a step verifies k drafted tokens of every sequence and yields (1-p^(k+1))/(1-p) on average (p: acceptance
// of one token, those before it accepted). The simulator's step yields one, so it takes the verified step's time over
// that number; a step with prompts takes the rest of its time whole. Drafts are k passes of one layer and the head over
// the batch, as MTP modules and EAGLE heads are. Tokens of a sequence read its cache once: the verified step is priced
// as (k+1) times the sequences at a context that much shorter. Wrong: gaps between tokens are smoothed, requests do not
// differ in luck, windows are read short, and the FLOPs of attention over more queries are not counted.
// Wrong where long and short prompts share a step and
// the cost is not linear in pairs: windows, and reading each prompt's cached prefix.
#pragma once

#include <array>

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
};

struct Speculation {
  std::int64_t tokens = 0;            // drafted per step; 0: none
  double acceptance_ratio = 0;        // in [0, 1)
  [[nodiscard]] double tokens_per_step() const;
};

class PricedTimer : public StepTimer {
 public:
  // The pricer must outlive the timer.
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
  };
  void fill(Cell& cell, TimeLine* lines);
  [[nodiscard]] BatchShape verified(BatchShape shape) const;
  [[nodiscard]] double draft_seconds(const BatchShape& shape) const;
  [[nodiscard]] double decode_seconds(const StageLayers& stage, const BatchShape& shape) const;
  [[nodiscard]] double stage_seconds(const StageLayers& stage, const BatchShape& shape) const;
  [[nodiscard]] double fixed_seconds(const BatchShape& shape) const;
  void add_price(const BatchShape& shape, double weight_ratio, double& fixed);

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
