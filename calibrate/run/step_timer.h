// Whole decode and prefill steps of a model on this machine's ranks, each against its price.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "calibrate/kernels/kernels.h"
#include "calibrate/run/stopping_rule.h"
#include "calibrate/transport.h"
#include "costmodel/batch.h"
#include "costmodel/parallel_config.h"
#include "hwprofiles/profile.h"
#include "models/model_spec.h"

namespace shardplan {

struct StepTimerOptions {
  const HardwareProfile* hardware = nullptr;
  const Kernels* kernels = nullptr;
  std::shared_ptr<Transport> transport;
  Transport::Milliseconds timeout{60000};
  int repeats = 15;
  int rounds = 3;              // the fastest counts
};

struct StepTiming {
  ParallelConfig config;
  BatchShape shape;
  SampleSummary measured;      // seconds
  double predicted = 0;        // seconds
  [[nodiscard]] double error_ratio() const { return predicted / measured.median - 1; }
};

// Weights stay from shape to shape; `shapes` are of one phase each.
[[nodiscard]] std::vector<StepTiming> time_steps(const ModelSpec& model, const ParallelConfig& config, const std::vector<BatchShape>& shapes,
                                                 const StepTimerOptions& options);

}  // namespace shardplan
