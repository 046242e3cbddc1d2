#include "calibrate/run/step_timer.h"

#include "calibrate/proof.h"
#include "costmodel/lowered_model.h"
#include "costmodel/step_price.h"

namespace shardplan {

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
  for (const BatchShape& shape : shapes) {
    const StepForm form = shape.decode_sequences > 0 ? StepForm::kDecode : StepForm::kPrefill;
    const LoweredProgram program = lower_program(model, config, form, std::nullopt);
    TimedRun run = executor.run_timed(program.program, RaggedBatch::from(shape), options.repeats + 2);
    run.seconds.erase(run.seconds.begin(), run.seconds.begin() + 2);   // cuts weights, makes up the cache
    timings.push_back({config, shape, summary_of(std::move(run.seconds)), pricer.step(stages, shape).seconds.value()});
  }
  return timings;
}

}  // namespace shardplan
