#include "costmodel/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/units.h"
#include "costmodel/activation_peak.h"
#include "costmodel/traffic.h"
#include "costmodel/work.h"

namespace shardplan {
namespace {

constexpr std::size_t kParts = static_cast<std::size_t>(Part::kResidual) + 1;
using PartBytes = std::array<double, kParts>;

// Weights of a graph on the fullest rank by part; each tensor once. Redundant experts add their slots.
PartBytes weights_of(const StepGraph& graph, const ParallelConfig& config) {
  PartBytes bytes{};
  for (const Value& value : graph.values) {
    const Tensor& tensor = graph.logical.tensor(value.tensor);
    if (tensor.lifetime != Lifetime::kWeight) continue;
    double held = held_weight_bytes(graph, tensor, value.placement);
    if (tensor.part == Part::kExperts && config.variant.redundant_experts > 0) {
      const std::int64_t experts = tensor.extent(Dim::kExperts);
      held *= static_cast<double>(ceil_div(experts + config.variant.redundant_experts, config.ep)) / static_cast<double>(ceil_div(experts, config.ep));
    }
    bytes[static_cast<std::size_t>(tensor.part)] += held;
  }
  return bytes;
}

void add_scaled(PartBytes& total, const PartBytes& part, double count) {
  for (std::size_t i = 0; i < kParts; ++i) total[i] += part[i] * count;
}

std::int64_t position_parts(const StepGraph& graph, const Placement& placement) {
  std::int64_t parts = 1;
  for (const Shard& shard : placement.of(Dim::kPositions)) {
    if (shard.layout != Layout::kByRequest) parts *= graph.mesh.size(DigitList{shard.digit});
  }
  return parts;
}

// Caches and states of a layer, one term for each window: each name once (a mixed graph names the same cache in both phases).
std::vector<Ledger::CacheTerm> cache_of(const StepGraph& graph, const LayerKind& kind) {
  std::vector<Ledger::CacheTerm> terms{{.window = kind.attention.window}};
  std::vector<std::string> seen;
  for (const Value& value : graph.values) {
    const Tensor& tensor = graph.logical.tensor(value.tensor);
    if (tensor.lifetime != Lifetime::kCache || std::find(seen.begin(), seen.end(), tensor.name) != seen.end()) continue;
    seen.emplace_back(tensor.name);
    const double whole = static_cast<double>(fixed_elements(graph, tensor, value.placement)) * element_bytes(tensor);
    if (tensor.has(Dim::kRequests)) {
      terms.front().bytes_per_request += whole;
      continue;
    }
    const std::int64_t window = tensor.every > 1 ? 0 : kind.attention.window;   // entries outlive the window
    auto term = std::find_if(terms.begin(), terms.end(), [&](const Ledger::CacheTerm& t) { return t.window == window; });
    if (term == terms.end()) term = terms.insert(terms.end(), {.window = window});
    term->bytes_per_token += whole / static_cast<double>(position_parts(graph, value.placement));
  }
  return terms;
}

std::int64_t cp_parts(const StageGraphs& graphs) {
  for (const StepGraph& layer : graphs.layers) {
    for (const Value& value : layer.values) {
      const Tensor& tensor = layer.logical.tensor(value.tensor);
      if (tensor.lifetime == Lifetime::kCache && tensor.has(Dim::kPositions)) return position_parts(layer, value.placement);
    }
  }
  return 1;
}

std::vector<LedgerItem> items_of(const PartBytes& bytes) {
  std::vector<LedgerItem> items;
  for (std::size_t i = 0; i < kParts; ++i) {
    if (bytes[i] > 0) items.push_back({part_name(static_cast<Part>(i)), Bytes(static_cast<std::int64_t>(bytes[i]))});
  }
  return items;
}

Bytes stage_activations(const LoweredModel& lowered, const StageLayers& stage, const BatchShape& shape) {
  Bytes most;
  for (const StageGraphs& graphs : lowered.forms) {
    for (std::size_t k = 0; k < graphs.layers.size(); ++k) {
      if (stage.of_kind[k] > 0) most = std::max(most, activation_peak(graphs.layers[k], shape));
    }
    if (stage.is_first) most = std::max(most, activation_peak(graphs.embedding, shape));
    if (stage.is_last) most = std::max(most, activation_peak(graphs.head, shape));
  }
  return most;
}

double request_bytes(const std::vector<Ledger::CacheTerm>& terms, std::int64_t tokens, std::int64_t block) {
  double bytes = 0;
  for (const Ledger::CacheTerm& term : terms) {
    std::int64_t held = tokens;
    if (term.window > 0) held = std::min(held, term.window + block);   // the window slides over one more block
    bytes += static_cast<double>(ceil_div(held, block) * block) * term.bytes_per_token + term.bytes_per_request;
  }
  return bytes;
}

std::vector<LedgerItem> workspace_of(const EngineMemory& engine, const ParallelConfig& config) {
  std::vector<LedgerItem> items{{"device context", engine.context}, {"cuda graphs", engine.graphs}};
  if (config.instance_gpus() > 1) items.push_back({"communicators", engine.communicators});
  return items;
}

StageLedger make_stage(const ModelSpec& model, const ParallelConfig& config, const LoweredModel& lowered, const StageLayers& stage,
                       Bytes capacity, const EngineMemory& engine, const MemoryDemand& demand, std::vector<Ledger::CacheTerm>& terms) {
  const StageGraphs& graphs = lowered.forms.front();
  StageLedger ledger{.layers = stage};
  PartBytes weights{};
  for (std::size_t k = 0; k < graphs.layers.size(); ++k) {
    if (stage.of_kind[k] == 0) continue;
    const auto count = static_cast<double>(stage.of_kind[k]);
    add_scaled(weights, weights_of(graphs.layers[k], config), count);
    for (const Ledger::CacheTerm& cache : cache_of(graphs.layers[k], model.kinds[k])) {
      ledger.kv_bytes_per_token += cache.bytes_per_token * count;
      terms.push_back({cache.window, cache.bytes_per_token * count, cache.bytes_per_request * count});
    }
  }
  if (stage.is_first) add_scaled(weights, weights_of(graphs.embedding, config), 1);
  if (stage.is_last) {
    PartBytes head = weights_of(graphs.head, config);
    const bool shares_table = model.tied_embeddings && stage.is_first;   // one table serves both ends of one stage
    if (shares_table) head[static_cast<std::size_t>(Part::kHead)] = 0;
    add_scaled(weights, head, 1);
  }
  ledger.weights = items_of(weights);
  for (const LedgerItem& item : ledger.weights) ledger.weights_bytes += item.bytes;
  ledger.activation_bytes = stage_activations(lowered, stage, demand.largest_step);
  ledger.workspace = workspace_of(engine, config);
  for (const LedgerItem& item : ledger.workspace) ledger.workspace_bytes += item.bytes;
  const Bytes left = capacity - ledger.weights_bytes - ledger.activation_bytes - ledger.workspace_bytes;
  if (left < Bytes(0)) ledger.missing_bytes = Bytes(0) - left;
  else ledger.kv_pool_bytes = left;
  return ledger;
}

void judge(Ledger& ledger, const MemoryDemand& demand) {
  for (std::size_t s = 0; s < ledger.stages.size(); ++s) {
    const StageLedger& stage = ledger.stages[s];
    if (stage.missing_bytes > Bytes(0)) {
      ledger.misfit = fmt::format("stage {} needs {} for weights, {} for activations and {} of workspace, but only {} of {} may be used: {} too much",
                                  s, format_bytes(stage.weights_bytes), format_bytes(stage.activation_bytes), format_bytes(stage.workspace_bytes),
                                  format_bytes(ledger.capacity_bytes), format_bytes(ledger.device_bytes), format_bytes(stage.missing_bytes));
      return;
    }
  }
  const std::int64_t tokens = std::max<std::int64_t>(1, demand.request_tokens);
  for (std::size_t s = 0; s < ledger.stages.size(); ++s) {
    const Bytes pool = ledger.stages[s].kv_pool_bytes;
    if (request_bytes(ledger.cache_terms[s], tokens, ledger.block_tokens) <= static_cast<double>(pool.value())) continue;
    ledger.misfit = fmt::format("one request of {} tokens needs more cache than the {} left beside weights hold ({} tokens)",
                                demand.request_tokens, format_bytes(pool), ledger.group_capacity_tokens);
    return;
  }
  ledger.fits = true;
}

// The longest single request that one group can hold.
std::int64_t longest_request(const Ledger& ledger) {
  std::int64_t low = 0;
  std::int64_t high = std::int64_t{1} << 40;
  const auto holds = [&ledger](std::int64_t tokens) {
    for (std::size_t s = 0; s < ledger.stages.size(); ++s) {
      if (request_bytes(ledger.cache_terms[s], tokens, ledger.block_tokens) > static_cast<double>(ledger.stages[s].kv_pool_bytes.value())) return false;
    }
    return true;
  };
  while (low + ledger.block_tokens < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return ceil_div(low, ledger.block_tokens) * ledger.block_tokens;   // `low` holds, and so does the block it ends in
}

}  // namespace

std::int64_t Ledger::request_capacity(std::int64_t tokens) const {
  double least = 1e18;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const double each = request_bytes(cache_terms[s], tokens, block_tokens);
    if (each > 0) least = std::min(least, std::floor(static_cast<double>(stages[s].kv_pool_bytes.value()) / each));
  }
  return static_cast<std::int64_t>(least) * attention_groups;
}

Ledger make_ledger(const ModelSpec& model, const ParallelConfig& config, const LoweredModel& lowered,
                   const std::vector<StageLayers>& stages, const HardwareProfile& hardware, const EngineMemory& engine,
                   const MemoryDemand& demand) {
  Ledger ledger;
  ledger.device_bytes = hardware.device.memory;
  ledger.capacity_bytes = Bytes(static_cast<std::int64_t>(std::floor(static_cast<double>(ledger.device_bytes.value()) * engine.memory_fraction_ratio)));
  ledger.attention_groups = config.dpa;
  ledger.block_tokens = engine.block_size * cp_parts(lowered.forms.front());
  ledger.cache_terms.resize(stages.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    ledger.stages.push_back(make_stage(model, config, lowered, stages[s], ledger.capacity_bytes, engine, demand, ledger.cache_terms[s]));
    ledger.kv_bytes_per_token = std::max(ledger.kv_bytes_per_token, ledger.stages.back().kv_bytes_per_token);
  }
  ledger.group_capacity_tokens = longest_request(ledger);
  const std::int64_t length = demand.request_tokens > 0 ? demand.request_tokens : 1;
  bool windowed = false;
  for (const auto& terms : ledger.cache_terms) {
    for (const Ledger::CacheTerm& term : terms) windowed = windowed || term.window > 0 || term.bytes_per_request > 0;
  }
  ledger.kv_capacity_tokens = windowed ? ledger.request_capacity(length) * length : ledger.group_capacity_tokens * config.dpa;
  judge(ledger, demand);
  return ledger;
}

}  // namespace shardplan
