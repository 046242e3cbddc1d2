// One step graph as a flat program of coefficients over a symbol table; see step_price.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "costmodel/collective_pricer.h"
#include "costmodel/expert_load.h"
#include "costmodel/step_graph.h"
#include "costmodel/step_price.h"
#include "costmodel/symbol.h"
#include "costmodel/traffic.h"
#include "costmodel/work.h"

namespace shardplan {

// Peak of the arithmetic that products of weights in `format` run in: bf16 for weight-only formats, and where the device
// has no units for the format (its weights are widened). nullptr: bf16.
[[nodiscard]] FlopsPerSecond math_peak(const DeviceSpec& device, const NumberFormat* format);

// Distinct symbols of all graphs of a form, and their values for one shape.
class SymbolTable {
 public:
  static constexpr std::size_t kMost = 128;
  // Of every symbol, and the factors on a node's time by part.
  struct Values : std::array<double, kMost> {
    StepParts factors;
    double decode_tokens = 1;   // of a sequence
    bool captured = false;      // no prompts: the step is a captured graph
  };

  [[nodiscard]] std::int32_t index(const Symbol& symbol);    // adds it when new
  void evaluate_all(const BatchShape& shape, Values& values, Values& means) const;

 private:
  std::vector<Symbol> symbols_;
};

// The kernel side of a node, coefficients resolved for a device and mode.
struct CompiledWork {
  struct Term { std::int32_t symbol; double flops; double bytes; double kv_bytes; };
  std::vector<Term> terms;
  KernelFamily family = KernelFamily::kElementwise;
  StepPart part = StepPart::kElementwise;
  StepPart fixed_part = StepPart::kElementwise;
  double weight_bytes = 0;
  double seconds_per_flop = 0;
  double seconds_per_byte = 0;
  double fixed = 0;
  // A norm behind an all-reduce of `ratio` bytes per unit of `symbol`: part of that kernel up to `limit` bytes.
  struct Fused { std::int32_t symbol = 0; double ratio = 0; double limit = 0; };
  Fused fused;
  bool grouped = false;
  double tokens_ratio = 1;
  double flops_per_row = 0;
  double bytes_per_row = 0;
  double bytes_per_expert = 0;
  // A fitted model where the profile has one; the roofline above is then only what it must not beat.
  const KernelModel* model = nullptr;
  const RowCurve* curve = nullptr;       // products, experts
  const PlaneCurve* plane = nullptr;     // decode attention
  AttentionShape attention;
  KernelDevice device;
  bool own_kernel = true;
};

struct CompiledTraffic {
  const CollectiveCurve* curve = nullptr;
  const CollectiveCurve* captured = nullptr;  // of a captured step, where that is another
  const CollectiveCurve* fused = nullptr;     // of an all-reduce that is one kernel with the norm behind it
  double fused_limit = 0;                     // up to so many bytes
  std::int32_t symbol = 0;
  TrafficForm form;
  double lse_ratio = 0;          // LSE bytes per unit, of the sent bytes
  std::int64_t hops = 1;         // ring: blocks sent one after the other
  [[nodiscard]] bool is_fused(double message) const { return fused != nullptr && message <= fused_limit; }
  [[nodiscard]] const CollectiveCurve& curve_of(const SymbolTable::Values& values, double message) const {
    if (is_fused(message)) return *fused;
    return values.captured && captured != nullptr ? *captured : *curve;
  }
};

struct CompiledNode {
  std::int32_t node = 0;         // index into StepGraph::nodes
  std::optional<CompiledWork> work;
  std::optional<CompiledTraffic> traffic;
};

// Work of one node for given symbol values.
struct NodeWork {
  double flops = 0;
  double bytes = 0;
  double kv_bytes = 0;
  double seconds = 0;            // of the busiest rank
  double mean_seconds = 0;       // of an average rank
  double fixed = 0;
};

// What a graph is compiled for; all but the collectives may be empty.
struct CompileFor {
  const CollectivePricer& collectives;
  const ExpertLoadModel* experts = nullptr;
  const FusedAllReduce& fused;
};

class CompiledGraph {
 public:
  CompiledGraph(const StepGraph& graph, const CompileFor& target, SymbolTable& symbols, const std::vector<GroupShape::Axis>& device_axes, const GroupShape& boundary);

  [[nodiscard]] StepTime time(const SymbolTable::Values& values, const SymbolTable::Values& means) const;
  // Adds one row per node that has something to do, `count` times, named with `prefix`.
  void describe(const SymbolTable::Values& values, const SymbolTable::Values& means, std::int64_t count, StepBreakdown& out,
                const char* prefix = "") const;

 private:
  struct Pair;
  // `share`: of the batch, for parts of it.
  [[nodiscard]] NodeWork work(const CompiledWork& work, const SymbolTable::Values& values, const SymbolTable::Values& means, double share) const;
  // Of the fitted model, launch included, for what `roofline` holds.
  [[nodiscard]] double model_seconds(const CompiledWork& work, const SymbolTable::Values& values, double share) const;
  [[nodiscard]] double traffic_seconds(const CompiledTraffic& traffic, const SymbolTable::Values& values, double share) const;
  [[nodiscard]] Pair pair(const SymbolTable::Values& values, const SymbolTable::Values& means, double parts, bool experts) const;
  void fuse_norms(const CompileFor& target, const std::vector<GroupShape::Axis>& axes);
  void add_node(const CompiledNode& node, const SymbolTable::Values& values, const SymbolTable::Values& means, StepTime& total) const;
  void apply_overlaps(const SymbolTable::Values& values, const SymbolTable::Values& means, StepTime& total) const;

  const StepGraph* graph_;
  const ExpertLoadModel* experts_;
  std::vector<CompiledNode> nodes_;
};

}  // namespace shardplan
