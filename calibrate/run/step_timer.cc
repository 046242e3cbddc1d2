#include "calibrate/run/step_timer.h"

#include <algorithm>

#include "calibrate/proof.h"
#include "costmodel/lowered_model.h"
#include "costmodel/step_price.h"

namespace shardplan {
namespace {

// One round of repetitions; what its first two did, cutting weights and making up the cache, does not count.
SampleSummary measured(Executor& executor, const Program& program, const RaggedBatch& batch, int repeats) {
  const TimedRun run = executor.run_timed(program, batch, repeats + 2);
  return summary_of(std::vector<Sample>(run.samples.begin() + 2, run.samples.end()));
}

// The faster round, with a spread that holds the other's median.
SampleSummary better_of(const SampleSummary& a, const SampleSummary& b) {
  SampleSummary best = a.median <= b.median ? a : b;
  best.p90 = std::max(best.p90, std::max(a.median, b.median));
  return best;
}

}  // namespace

std::vector<StepTiming> time_steps(const ModelSpec& model, const ParallelConfig& config, const std::vector<BatchShape>& shapes,
                                   const StepTimerOptions& options) {
  const NumberFormat* bf16 = find_format("bf16");
  const LoweredModel lowered = lower_model(model, config, {bf16, model.kv_format != nullptr ? model.kv_format : bf16, nullptr});
  const Fabric fabric(*options.hardware, config.instance_gpus());
  const CollectivePricer collectives(*options.hardware, fabric, PriceMode::kCalibrated);
  const StepPricer pricer(model, config, lowered, collectives, {});
  const auto stages = stage_layers(model, even_layer_split(model.layer_count(), config.pp));
  ExecutorOptions executor_options{.seed = 1, .invent_prefix = true, .kernels = options.kernels};
  executor_options.communicator = {.timeout = options.timeout, .transport = options.transport};
  Executor executor(static_cast<int>(config.pp), static_cast<int>(config.stage_ranks()), executor_options);
  std::vector<StepTiming> timings;
  for (const BatchShape& shape : shapes) timings.push_back({config, shape, {}, pricer.step(stages, shape).seconds.value()});
  for (int round = 0; round < options.rounds; ++round) {   // one after the other, so that a shape's rounds lie apart in time
    for (StepTiming& timing : timings) {
      const StepForm form = timing.shape.decode_sequences > 0 ? StepForm::kDecode : StepForm::kPrefill;
      const LoweredProgram program = lower_program(model, config, form, std::nullopt);
      const SampleSummary now = measured(executor, program.program, RaggedBatch::from(timing.shape), options.repeats);
      timing.measured = round == 0 ? now : better_of(timing.measured, now);
    }
  }
  return timings;
}

}  // namespace shardplan
