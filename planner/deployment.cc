#include "planner/deployment.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace shardplan {
namespace {

constexpr std::int64_t kSplitSequences = 32;  // per attention group, of the shape that layer splits are balanced for

// Prices with the factors of the engine's kernels, and what it fuses.
PriceOptions price_of(const PlanRequest& request, const ParallelConfig& config) {
  const Engine& engine = engine_of(request);
  PriceOptions options = request.price;
  options.factors = times_of(request).factors;
  if (engine.fused_all_reduce != nullptr) options.fused_all_reduce = engine.fused_all_reduce(request.model, config, request.hardware, version_of(request));
  return options;
}

std::int64_t positive_or(std::int64_t given, std::int64_t fallback) { return given > 0 ? given : fallback; }

}  // namespace

const Engine& engine_of(const PlanRequest& request) {
  return request.engine != nullptr ? *request.engine : engines().front();
}

std::string version_of(const PlanRequest& request) {
  return request.engine_version.empty() ? engine_of(request).default_version : request.engine_version;
}

KernelOptions kernel_options(const PlanRequest& request) {
  const Engine& engine = engine_of(request);
  KernelOptions options;
  if (engine.kernel_libraries != nullptr) options.libraries = engine.kernel_libraries(version_of(request));
  if (request.price.symmetric_memory) options.symmetric_from_ranks = engine.symmetric_from_ranks;
  return options;
}

GraphFormats formats_of(const PlanRequest& request) {
  return {.activation = request.activation_format != nullptr ? request.activation_format : find_format("bf16"),
          .kv = request.kv_format != nullptr ? request.kv_format : request.model.kv_format};
}

EngineMemory memory_of(const PlanRequest& request, const ParallelConfig& config) {
  EngineMemory memory = engine_of(request).memory(request.model, config, request.hardware, version_of(request));
  if (request.memory_fraction_ratio > 0) memory.memory_fraction_ratio = request.memory_fraction_ratio;
  memory.held = request.memory_held;
  if (request.price.symmetric_memory) memory.communicators += engine_of(request).symmetric_pool;
  if (request.block_size > 0) memory.block_size = request.block_size;
  return memory;
}

SchedulerDefaults scheduler_of(const PlanRequest& request, const ParallelConfig& config,
                               std::int64_t max_batched_tokens) {
  SchedulerDefaults s = engine_of(request).scheduler(request.model, config, request.hardware);
  s.max_sequences = positive_or(request.max_num_sequences, s.max_sequences);
  s.max_batched_tokens = positive_or(max_batched_tokens, positive_or(request.max_batched_tokens, s.max_batched_tokens));
  const std::int64_t context = context_of(request);
  if (!s.chunked_prefill) s.max_batched_tokens = std::max(s.max_batched_tokens, context);  // a prompt is one step
  if (s.max_batched_tokens / context >= s.max_sequences) s.max_batched_tokens = s.max_sequences * context;
  const std::int64_t verified = verified_tokens(config.variant.speculative_tokens);
  s.max_sequences = std::min(s.max_sequences, std::max<std::int64_t>(1, s.max_batched_tokens / verified));
  return s;
}

TimesKey times_key(const PlanRequest& request) {
  const Engine& engine = engine_of(request);
  TimesKey key{.engine = engine.name,
               .version = request.engine_version,
               .architecture = request.hardware.device.architecture,
               .device = request.hardware.device.name,
               .model = request.model.name};
  if (!request.engine_times_as.empty()) key.engine = request.engine_times_as;
  std::int64_t most = 0;
  for (std::size_t k = 0; k < request.model.kinds.size(); ++k) {   // of most layers
    const LayerKind& kind = request.model.kinds[k];
    const std::int64_t layers = request.model.layers_of_kind(static_cast<int>(k));
    if (kind.ffn.kind == FfnKind::kMoe && kind.formats.experts != nullptr) key.expert_format = kind.formats.experts->name;
    if (layers <= most || kind.formats.attention == nullptr) continue;
    most = layers;
    key.dense_format = kind.formats.attention->name;
  }
  return key;
}

EngineTimes times_of(const PlanRequest& request) {
  const EngineTimesTable& table = request.engine_times ? *request.engine_times : shipped_engine_times();
  return table.resolve(times_key(request));
}

std::int64_t context_of(const PlanRequest& request) {
  return std::max<std::int64_t>(1, positive_or(request.max_model_len, request.workload.tokens()));
}

MemoryDemand demand_of(const PlanRequest& request, const ParallelConfig& config, const SchedulerDefaults& scheduler) {
  MemoryDemand demand;
  demand.request_tokens = context_of(request);
  const std::int64_t drafts = config.variant.speculative_tokens;
  const std::int64_t seats = std::min(scheduler.max_sequences, (scheduler.max_batched_tokens - 1) / (1 + drafts));
  BatchShape& step = demand.largest_step;
  step.decode_sequences = seats * config.dpa;
  step.decode_context = static_cast<double>(demand.request_tokens);
  step.decode_tokens = 1 + drafts;
  step.prefill_sequences = config.dpa;
  step.prefill_tokens = scheduler.max_batched_tokens - seats * (1 + drafts);
  return demand;
}

std::vector<Violation> violations_of(const PlanRequest& request, const ParallelConfig& config) {
  std::vector<Violation> out = check_config(request.model, config);
  // Engine rules read sizes that neutral legality guarantees.
  if (!out.empty() && (out.front().rule == "degree_range" || request.model.kinds.empty())) return out;
  const auto more = engine_of(request).check(request.model, config, request.hardware, version_of(request), request.role);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

BatchShape steady_shape(const PlanRequest& request, const ParallelConfig& config, std::int64_t sequences) {
  const Workload& w = request.workload;
  BatchShape shape;
  shape.decode_sequences = sequences * config.dpa;
  shape.decode_context = static_cast<double>(w.isl) + static_cast<double>(w.osl) / 2;
  shape.prefill_sequences = config.dpa;
  const std::int64_t drafts = config.variant.speculative_tokens;
  const auto done = static_cast<std::int64_t>(static_cast<double>(sequences * (w.isl - w.prefix)) * tokens_per_step(drafts, w.acceptance_ratio));
  shape.prefill_tokens = std::max<std::int64_t>(1, done / std::max<std::int64_t>(1, w.osl));
  shape.prefill_prefix = static_cast<double>(w.prefix);
  return verifying(shape, drafts);
}

SharedTable share_table(const PlanRequest& request, const ParallelConfig& table, const CollectivePricer& collectives) {
  SharedTable shared;
  shared.lowered = std::make_shared<const LoweredModel>(lower_model(request.model, table, formats_of(request)));
  ParallelConfig piped = table;
  piped.pp = 2 * table.stage_ranks() <= request.gpus
                 ? 2
                 : 1;  // prices do not depend on the depth, but one stage has no boundary
  shared.pricer = std::make_shared<const StepPricer>(request.model, piped, *shared.lowered, collectives, price_of(request, piped));
  return shared;
}

Deployment::Deployment(const PlanRequest& request, const ParallelConfig& config, const Setting& setting,
                       const CollectivePricer& collectives, const SharedTable& shared)
    : request_(request),
      config_(config),
      order_(engine_of(request).exports ? engine_order(engine_of(request), config) : setting.order),
      collectives_(collectives),
      shared_(shared),
      memory_(memory_of(request, config)),
      times_(times_of(request)),
      scheduler_(scheduler_of(request, config, setting.max_batched_tokens)) {
  if (!shared_.lowered) {
    shared_.lowered = std::make_shared<const LoweredModel>(lower_model(request.model, config, formats_of(request)));
  }
  if (order_ != DeviceOrder::kStageMajor) shared_.pricer = nullptr;
  choose_split();
}

// Given, or the engine's; without an engine the split that balances time, unless only the even one fits.
void Deployment::choose_split() {
  const std::int64_t layers = request_.model.layer_count();
  if (!config_.pp_layers.empty()) return use_split(config_.pp_layers);
  const auto even = engine_of(request_).layer_split(layers, config_.pp);
  if (engine_of(request_).exports || config_.pp == 1) return use_split(even);
  const auto balanced = balanced_split();
  use_split(balanced);
  if (!ledger_.fits && balanced != even) use_split(even);
}

std::vector<std::int64_t> Deployment::balanced_split() {
  const BatchShape shape = steady_shape(request_, config_, kSplitSequences);
  std::vector<double> by_kind, cost;
  for (std::size_t k = 0; k < request_.model.kinds.size(); ++k)
    by_kind.push_back(pricer().layer(static_cast<int>(k), shape).value());
  for (const int kind : request_.model.layers) cost.push_back(by_kind[static_cast<std::size_t>(kind)]);
  const double last = pricer().ends(false, shape).value() + pricer().drafts(shape).seconds.value();
  return balanced_layer_split(cost, pricer().ends(true, shape).value(), last, config_.pp);
}

void Deployment::use_split(std::vector<std::int64_t> split) {
  split_ = std::move(split);
  stages_ = stage_layers(request_.model, split_);
  ledger_ = make_ledger(request_.model, config_, *shared_.lowered, stages_, request_.hardware, memory_,
                        demand_of(request_, config_, scheduler_));
  // A running request holds a page of every state: engines refuse more seats than pages.
  if (ledger_.paged() && ledger_.pages.has_states() && ledger_.pages.pages > 0)
    scheduler_.max_sequences = std::min(scheduler_.max_sequences, std::max<std::int64_t>(1, ledger_.pages.pages / verified_tokens(config_.variant.speculative_tokens)));
}

void Deployment::use_chunk(std::int64_t max_batched_tokens) {
  scheduler_ = scheduler_of(request_, config_, max_batched_tokens);
  use_split(split_);
}

const StepPricer& Deployment::pricer() {
  if (!shared_.pricer) {
    shared_.pricer = std::make_shared<const StepPricer>(request_.model, config_, *shared_.lowered, collectives_,
                                                        price_of(request_, config_), order_);
  }
  return *shared_.pricer;
}

ServingInput Deployment::serving_input() {
  return {.pricer = pricer(),
          .stages = stages_,
          .ledger = ledger_,
          .config = config_,
          .times = times_,
          .scheduler = scheduler_,
          .mixes = shared_.lowered->mixes()};
}

Plan Deployment::plan() const {
  Plan plan;
  plan.config = config_;
  plan.order = order_;
  plan.max_batched_tokens = scheduler_.max_batched_tokens;
  plan.max_num_sequences = scheduler_.max_sequences;
  plan.layer_split = split_;
  plan.stages = stages_;
  plan.ledger = ledger_;
  plan.warnings = engine_of(request_).warnings(request_.model, config_, request_.hardware, version_of(request_));
  if (ledger_.paged() && ledger_.pages.has_states() && request_.max_num_sequences > scheduler_.max_sequences) {
    plan.warnings.push_back({"max_num_seqs", fmt::format("{} seats were asked for, {} are given: each running request holds pages of the states, and there are {}",
                                                         request_.max_num_sequences, scheduler_.max_sequences, ledger_.pages.pages)});
  }
  return plan;
}

}  // namespace shardplan
