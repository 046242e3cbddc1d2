// The time of one step of one instance: step graphs compiled to a flat program over the symbols of a batch shape.
//
// Each node becomes coefficients; a shape is priced by evaluating each distinct symbol once and walking the program,
// without allocation. A node's time is its kernel's roofline or its collective's price; nodes follow one another but
// where a pass overlaps them (ring steps, chunked experts, HOP-B). Time of a stage = sum over its layers. Where MTP modules
// draft, decodes are to be asked for as verifying() makes them, and the last stage's time holds the drafts of the next step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "costmodel/collective_pricer.h"
#include "costmodel/collectives/collective.h"
#include "costmodel/expert_capacity.h"
#include "costmodel/expert_load.h"
#include "costmodel/lowered_model.h"
#include "costmodel/stages.h"
#include "costmodel/step_parts.h"

namespace shardplan {

// Components add up: seconds = compute + exposed_communication + wait + overhead.
struct StepTime {
  Seconds seconds;
  Seconds compute;                  // of an average rank
  Seconds communication;            // all of it, hidden or not
  Seconds exposed_communication;
  Seconds overhead;                 // fixed cost of kernels, host
  Seconds wait;                     // for the busiest rank (causal load, expert load)
  StepParts parts{};                // seconds by kind of work; they add up to `seconds` too
};
StepTime& operator+=(StepTime& a, const StepTime& b);
[[nodiscard]] StepTime operator*(const StepTime& a, double k);

struct OpRow {
  std::string name;                 // "qkv", "attention_decode", ...
  std::int64_t count = 0;           // times per step on the busiest stage's rank
  Flops flops;                      // each
  double bytes = 0;
  double kv_bytes = 0;              // of which cached K and V
  Seconds time;                     // each
  std::string bound;                // "compute", "memory", "fixed"
  StepPart part = StepPart::kElementwise;
  Spread spread;                    // 10th and 90th percentile of measured/predicted of this kernel at this size
};
struct CollectiveRow {
  std::string name;                 // the value that moves: "attention_out", ...
  std::string kind;
  std::string algorithm;
  std::int64_t group_size = 0;
  std::int64_t count = 0;
  double message_bytes = 0;
  double sent_bytes_per_rank = 0;
  double lse_bytes = 0;             // of which log-sum-exp beside partial outputs
  Seconds time;
  Spread spread;                    // as of an operation
};
struct StepBreakdown {
  StepTime time;                    // one step through all stages (latency)
  std::vector<StepTime> stages;
  std::vector<OpRow> ops;
  std::vector<CollectiveRow> collectives;
  std::optional<ExpertDrops> drops; // of a configuration with a capacity factor
};

// All-reduces that run as one kernel with the addition to the residual and the norm behind them, up to a size of message by
// ranks of the group: the norm is no launch of its own then, and its bytes still pass through memory. The kernel's time is
// that of the engine's all-reduce alone: vLLM's rows under FlashInfer's kernel fit so, not with TensorRT-LLM's times.
struct FusedAllReduce {
  struct Limit { std::int64_t ranks; double message_bytes; };
  std::vector<Limit> limits;   // none: not fused
  [[nodiscard]] double limit_of(std::int64_t ranks) const;   // message bytes; 0: not fused
};

struct PriceOptions {
  PriceMode mode = PriceMode::kCalibrated;   // of the CollectivePricer that the StepPricer is given
  ExpertLoad expert_load;
  FusedAllReduce fused_all_reduce;           // left alone at speed of light
  bool symmetric_memory = false;             // buffers are registered with NCCL; likewise
  StepFactors factors;                       // of the engine's kernels; left alone at speed of light
};

// How ranks of an instance lie on devices: stage by stage (a stage is contiguous), stages innermost, or stages between
// attention groups and what is inside one (dpa, pp, pcp, tp with tp innermost).
enum class DeviceOrder : std::uint8_t { kStageMajor, kStageMinor, kGroupMajor };

// Size and device stride of each digit of a stage's mesh, outermost first; and the stride between stages.
[[nodiscard]] std::vector<GroupShape::Axis> device_axes(const Mesh& mesh, const ParallelConfig& config, DeviceOrder order);
[[nodiscard]] const char* name_of(DeviceOrder order);  // "stage_major", "stage_minor", "group_major"
[[nodiscard]] std::int64_t stage_stride(const ParallelConfig& config, DeviceOrder order);

class StepPricer {
 public:
  // Everything passed must outlive the pricer, `options` excepted. One CollectivePricer serves a whole search.
  StepPricer(const ModelSpec& model, const ParallelConfig& config, const LoweredModel& lowered, const CollectivePricer& collectives,
             const PriceOptions& options, DeviceOrder order = DeviceOrder::kStageMajor);
  ~StepPricer();
  StepPricer(StepPricer&&) noexcept;

  // Time of one stage for a shape (mixed shapes with pcp > 1: the prefill step and the decode step, one after the other).
  [[nodiscard]] StepTime stage(const StageLayers& stage, const BatchShape& shape) const;
  // One transfer between stages.
  [[nodiscard]] Seconds hop(const BatchShape& shape) const;
  // Latency of one step through all stages, without host time.
  [[nodiscard]] StepTime step(const std::vector<StageLayers>& stages, const BatchShape& shape) const;
  [[nodiscard]] StepBreakdown breakdown(const std::vector<StageLayers>& stages, const BatchShape& shape) const;
  // Cost of one layer of each kind, for balanced splits.
  [[nodiscard]] Seconds layer(int kind, const BatchShape& shape) const;
  [[nodiscard]] Seconds ends(bool first, const BatchShape& shape) const;   // embedding, or head
  // What a step's experts drop under the configuration's capacity factor: of the first kind of layer that routes, which stands
  // for all. Nothing without one.
  [[nodiscard]] std::optional<ExpertDrops> drops(const BatchShape& shape) const;
  // What MTP modules take in a step that verifies their drafts (nothing without speculative tokens), of the last stage's
  // time; and how many layers they run.
  [[nodiscard]] StepTime drafts(const BatchShape& shape) const;
  [[nodiscard]] std::int64_t draft_layers(const BatchShape& shape) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shardplan
