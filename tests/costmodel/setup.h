// A configuration lowered and priced on one machine, and its collectives as lines of text: what the tests of the
// cost model share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "costmodel/ledger.h"
#include "costmodel/lowered_model.h"
#include "costmodel/step_price.h"
#include "hwprofiles/fabric.h"
#include "hwprofiles/profile.h"

namespace shardplan {

// Activations in bf16, cache as the model keeps it.
[[nodiscard]] GraphFormats default_formats(const ModelSpec& model);

// As lower_model, with every query attending to every key.
[[nodiscard]] LoweredModel lower_without_mask(const ModelSpec& model, const ParallelConfig& config);

class Setup {
 public:
  Setup(ModelSpec model, ParallelConfig config, HardwareProfile hardware, PriceMode mode = PriceMode::kSpeedOfLight);
  Setup(ModelSpec model, ParallelConfig config, LoweredModel lowered, HardwareProfile hardware, PriceMode mode);
  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;

  [[nodiscard]] const ModelSpec& model() const { return model_; }
  [[nodiscard]] const ParallelConfig& config() const { return config_; }
  [[nodiscard]] const HardwareProfile& hardware() const { return hardware_; }
  [[nodiscard]] const LoweredModel& lowered() const { return lowered_; }
  [[nodiscard]] const std::vector<StageLayers>& stages() const { return stages_; }
  [[nodiscard]] const StepPricer& pricer() const { return pricer_; }
  [[nodiscard]] const CollectivePricer& collectives() const { return collectives_; }
  [[nodiscard]] StepBreakdown breakdown(const BatchShape& shape) const { return pricer_.breakdown(stages_, shape); }
  [[nodiscard]] StepTime step(const BatchShape& shape) const { return pricer_.step(stages_, shape); }
  [[nodiscard]] Ledger ledger(const EngineMemory& engine, const MemoryDemand& demand) const;

 private:
  ModelSpec model_;
  ParallelConfig config_;
  HardwareProfile hardware_;
  LoweredModel lowered_;
  std::vector<StageLayers> stages_;
  Fabric fabric_;
  CollectivePricer collectives_;
  StepPricer pricer_;
};

// Throws InternalError when the breakdown has no such row (or more than one).
[[nodiscard]] const OpRow& op_row(const StepBreakdown& breakdown, const std::string& name);
[[nodiscard]] const CollectiveRow& collective_row(const StepBreakdown& breakdown, const std::string& name,
                                                  const std::string& kind);

// One line per collective of a graph that has something to send, in order: "all_reduce attention_out over 8: 917504".
// The number is what the busiest rank sends. `config` gives the width of a uniform expert load.
[[nodiscard]] std::vector<std::string> collective_lines(const StepGraph& graph, const BatchShape& shape,
                                                        const ParallelConfig& config);
// The same for layer kind `kind` in the form that serves the shape.
[[nodiscard]] std::vector<std::string> layer_collectives(const ModelSpec& model, const ParallelConfig& config,
                                                         const BatchShape& shape, std::size_t kind = 0);

}  // namespace shardplan
