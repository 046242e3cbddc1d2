#include "calibrate/check/run_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/errors.h"
#include "costmodel/ledger.h"
#include "costmodel/lower.h"
#include "costmodel/lowered_model.h"
#include "costmodel/speculation.h"
#include "costmodel/step_price.h"

namespace shardplan {
namespace {

// Divides by all group sizes up to eight, and by stripes of two positions or entries.
BatchShape even_decode(const CheckCase& c) {
  std::int64_t stripes = 1;
  for (const LayerKind& kind : c.model.kinds) stripes = std::lcm(stripes, std::max<std::int64_t>(1, kind.attention.compressed.ratio));
  return {.decode_sequences = 24, .decode_context = static_cast<double>(48 * stripes), .decode_tokens = verified_tokens(c.config.variant.speculative_tokens)};
}

// Two prompts, the second in two chunks, then three decode steps while a third prompt arrives. A batch lists a request also
// when it does nothing in the step, so that attention data parallelism leaves each in its group.
ProofResult converse(const CheckCase& c, const CheckOptions& options) {
  ProofOptions proof_options{.seed = options.seed, .invent_prefix = false, .tamper = options.tamper, .storage = options.storage,
                             .kernels = options.kernels, .timeout = options.timeout, .transport = options.transport, .measured_tolerance = has_recurrent(c.model)};
  Proof proof(c.model, c.config, proof_options);
  ProofResult total = proof.step(StepForm::kPrefill, {{{10, 0, 7, Phase::kPrefill}, {11, 0, 5, Phase::kPrefill}}});
  total.absorb(proof.step(StepForm::kPrefill, {{{10, 7, 0, Phase::kPrefill}, {11, 5, 4, Phase::kPrefill}}}));
  const std::int64_t n = verified_tokens(c.config.variant.speculative_tokens);
  const std::int64_t refused = n > 1 ? 1 : 0;
  total.absorb(proof.step(StepForm::kDecode, {{{10, 7, n, Phase::kDecode}, {11, 9, n, Phase::kDecode}}}));
  total.absorb(proof.step(StepForm::kMixed, {{{10, 7 + n, n, Phase::kDecode}, {11, 9 + n, n, Phase::kDecode}, {12, 0, 6, Phase::kPrefill}}}));
  total.absorb(proof.step(StepForm::kDecode, {{{10, 7 + 2 * n - refused, n, Phase::kDecode}, {12, 6, n, Phase::kDecode}}}));
  return total;
}

void judge_proof(CheckRow& row) {
  const Comparison& values = row.proof.values;
  if (!(values.worst_share_ratio <= 1)) {
    row.faults.push_back(fmt::format("{} on rank {} is off by {:.2g} of what roundings make of it", values.worst_tensor, values.worst_rank, values.worst_share_ratio));
  }
  if (!row.proof.bytes.mismatches.empty()) row.faults.push_back(row.proof.bytes.mismatches.front());
}

// A stripe of a window that has moved on may begin or end within a block, of which the ledger counts the whole: at least the
// window's own tokens are there.
double least_cache(const Ledger& ledger, std::size_t stage, std::int64_t context) {
  Ledger others = ledger;
  double windows = 0;
  for (const Ledger::CacheTerm& term : ledger.cache_terms[stage]) {
    if (term.window > 0) windows += static_cast<double>(std::min(context, term.window)) * term.bytes_per_token + term.bytes_per_request;
  }
  std::erase_if(others.cache_terms[stage], [](const Ledger::CacheTerm& term) { return term.window > 0; });
  return windows + others.cache_bytes(stage, context);
}

void set_ledger(const CheckCase& c, CheckRow& row) {
  const NumberFormat* bf16 = find_format("bf16");
  const GraphFormats formats{bf16, c.model.kv_format != nullptr ? c.model.kv_format : bf16, nullptr};
  const LoweredModel lowered = lower_model(c.model, c.config, formats);
  const auto stages = stage_layers(c.model, even_layer_split(c.model.layer_count(), c.config.pp));
  const BatchShape even = even_decode(c);
  const auto context = static_cast<std::int64_t>(even.decode_context);
  const Ledger ledger = make_ledger(c.model, c.config, lowered, stages, HardwareProfile{}, EngineMemory{.block_size = 1}, {even, context});
  const double requests = static_cast<double>(ceil_div(even.decode_sequences, c.config.dpa));
  for (std::size_t s = 0; s < ledger.stages.size(); ++s) {
    row.ledger.absorb({static_cast<double>(ledger.stages[s].weights_bytes.value()), ledger.cache_bytes(s, context) * requests,
                       static_cast<double>(ledger.stages[s].activation_bytes.value())});
    const double least = c.config.dcp > 1 ? least_cache(ledger, s, context) : ledger.cache_bytes(s, context);
    row.least_cache = std::max(row.least_cache, least * requests);
  }
}

void judge_memory(CheckRow& row) {
  const auto differ = [](double a, double b) { return std::abs(a - b) > 1; };
  if (differ(row.held.weights, row.ledger.weights)) {
    row.faults.push_back(fmt::format("a rank holds {:.0f} bytes of weights, the ledger says {:.0f}", row.held.weights, row.ledger.weights));
  }
  if (!(row.least_cache - 1 <= row.held.cache && row.held.cache <= row.ledger.cache + 1)) {
    row.faults.push_back(fmt::format("a rank holds {:.0f} bytes of cache, the ledger says {:.0f}, at least {:.0f} of them full", row.held.cache, row.ledger.cache, row.least_cache));
  }
  if (row.held.activations > row.ledger.activations + 1) {
    row.faults.push_back(fmt::format("{:.0f} bytes of activations are live at once, the ledger's peak is {:.0f}", row.held.activations, row.ledger.activations));
  }
}

double price_of(const CheckCase& c, const HardwareProfile& hardware) {
  const NumberFormat* bf16 = find_format("bf16");
  const LoweredModel lowered = lower_model(c.model, c.config, {bf16, c.model.kv_format != nullptr ? c.model.kv_format : bf16, nullptr});
  const Fabric fabric(hardware, c.config.instance_gpus());
  const CollectivePricer collectives(hardware, fabric, PriceMode::kCalibrated);
  const StepPricer pricer(c.model, c.config, lowered, collectives, {});
  return pricer.step(stage_layers(c.model, even_layer_split(c.model.layer_count(), c.config.pp)), even_decode(c)).seconds.value();
}

void time_step(const CheckCase& c, const CheckOptions& options, CheckRow& row) {
  ExecutorOptions executor_options{.seed = options.seed, .invent_prefix = true, .storage = options.storage, .kernels = options.kernels};
  executor_options.communicator = {.timeout = options.timeout, .transport = options.transport};
  Executor executor(static_cast<int>(c.config.pp), static_cast<int>(c.config.stage_ranks()), executor_options);
  const LoweredProgram lowered = lower_program(c.model, c.config, StepForm::kDecode, std::nullopt);
  TimedRun run = executor.run_timed(lowered.program, RaggedBatch::from(even_decode(c)), options.repeats + 1);
  run.samples.erase(run.samples.begin());   // cuts weights and makes up the cache
  row.measured_seconds = summary_of(run.samples).median;
  row.held = run.held;
}

}  // namespace

CheckRow run_check(const CheckCase& c, const CheckOptions& options) {
  CheckRow row{.lowering = c.lowering, .model = c.model.name, .config = c.config};
  try {
    row.proof = converse(c, options);
    judge_proof(row);
    time_step(c, options, row);
    set_ledger(c, row);
    judge_memory(row);
    if (options.hardware != nullptr) row.predicted_seconds = price_of(c, *options.hardware);
  } catch (const LoweringRefusal& refusal) {
    row.refusal = refusal.rule();
  } catch (const InternalError& error) {
    row.faults.emplace_back(error.what());
  }
  return row;
}

}  // namespace shardplan
