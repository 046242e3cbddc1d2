#include "costmodel/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/units.h"
#include "costmodel/index_sets.h"
#include "costmodel/traffic.h"
#include "costmodel/work.h"

namespace shardplan {
namespace {

constexpr std::size_t kParts = static_cast<std::size_t>(Part::kResidual) + 1;
using PartBytes = std::array<double, kParts>;

double padded(std::int64_t columns, std::int64_t multiple) {
  return static_cast<double>(ceil_div(columns, multiple) * multiple) / static_cast<double>(columns);
}

// Held over stored bytes of a matrix of routed experts; 1 where the engine does not pad its format.
double padding_ratio(const StepGraph& graph, const Tensor& tensor, const Placement& placement, const EngineMemory& engine) {
  const bool matrix = tensor.part == Part::kExperts && tensor.has(Dim::kFfn) && tensor.dims.size() > 2;
  double ratio = 1;
  for (const WeightPadding& rule : engine.padding) {
    if (!matrix || !tensor.format->name.starts_with(rule.format)) continue;
    for (const DimExtent& dim : tensor.dims) {
      const bool rows = std::find(tensor.output_dims.begin(), tensor.output_dims.end(), dim.dim) != tensor.output_dims.end();
      const std::int64_t held = max_held(graph.mesh, placement.of(dim.dim), dim.extent);
      if (dim.dim == Dim::kFfn) ratio *= padded(held, rows ? rule.up : rule.down);
      else if (dim.dim != Dim::kExperts) ratio *= padded(held, rule.hidden);
    }
    break;
  }
  return ratio;
}

// What an allocator that hands out large blocks in steps keeps beyond a tensor: what is left of a block is used for others
// only where it is more than half a step.
double left_over(double bytes, const EngineMemory& engine) {
  const auto step = static_cast<double>(engine.allocation_step.value());
  if (step <= 0 || bytes < 5 * step) return 0;
  const double left = std::ceil(bytes / step) * step - bytes;
  return 2 * left <= step ? left : 0;
}

double held_bytes(const StepGraph& graph, const ParallelConfig& config, const EngineMemory& engine, const Value& value) {
  const Tensor& tensor = graph.logical.tensor(value.tensor);
  double held = held_weight_bytes(graph, tensor, value.placement) * padding_ratio(graph, tensor, value.placement, engine);
  if (tensor.part == Part::kExperts && config.variant.redundant_experts > 0 && tensor.has(Dim::kExperts)) {
    const std::int64_t experts = tensor.extent(Dim::kExperts);
    held *= static_cast<double>(ceil_div(experts + config.variant.redundant_experts, config.ep)) / static_cast<double>(ceil_div(experts, config.ep));
  }
  return held;
}

// Weights of a graph on the fullest rank by part; each tensor once. Redundant experts add their slots. The weights of one
// product lie in one tensor (Q, K and V; gate and up), all but the last of the experts' too.
PartBytes weights_of(const StepGraph& graph, const ParallelConfig& config, const EngineMemory& engine) {
  PartBytes bytes{};
  for (const Value& value : graph.values) {
    const Tensor& tensor = graph.logical.tensor(value.tensor);
    if (tensor.lifetime == Lifetime::kWeight) bytes[static_cast<std::size_t>(tensor.part)] += held_bytes(graph, config, engine, value);
  }
  if (engine.allocation_step == Bytes(0)) return bytes;
  std::vector<ValueId> seen;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::kCompute || node.weights.empty() || std::find(seen.begin(), seen.end(), node.weights[0]) != seen.end()) continue;
    seen.push_back(node.weights[0]);
    const bool experts = graph.op_of(node).kind == OpKind::kExperts;
    double fused = 0;
    for (std::size_t i = 0; i < node.weights.size(); ++i) {
      const double held = held_bytes(graph, config, engine, graph.value(node.weights[i]));
      if (experts && i + 1 == node.weights.size()) bytes[static_cast<std::size_t>(Part::kExperts)] += left_over(held, engine);
      else fused += held;
    }
    bytes[static_cast<std::size_t>(graph.tensor_of(node.weights[0]).part)] += left_over(fused, engine);
  }
  return bytes;
}

// The up-projections of K and V out of the latent, once more in the activation format.
double absorbed_copies(const StepGraph& graph) {
  double bytes = 0;
  for (const Value& value : graph.values) {
    const Tensor& tensor = graph.logical.tensor(value.tensor);
    const std::string_view name = tensor.name;
    if (tensor.lifetime != Lifetime::kWeight || (name != "w_uk" && name != "w_uv")) continue;
    double elements = 1;
    for (const DimExtent& dim : tensor.dims) elements *= static_cast<double>(max_held(graph.mesh, value.placement.of(dim.dim), dim.extent));
    bytes += elements * element_bytes(graph.tensor_of(graph.residual_in));
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

// MTP modules on the last stage: their layers, projections and norms. The head's table is the model's own, and so is the
// embedding's where the stage has it.
double draft_weights(const DraftGraphs& draft, const ParallelConfig& config, const EngineMemory& engine, bool has_embedding) {
  const auto without = [](PartBytes bytes, Part part) {
    bytes[static_cast<std::size_t>(part)] = 0;
    return bytes;
  };
  const auto modules = static_cast<double>(draft.modules.size());
  PartBytes total{};
  PartBytes entry = weights_of(draft.entry, config, engine);
  const double embedding = has_embedding ? 0 : entry[static_cast<std::size_t>(Part::kEmbedding)];
  add_scaled(total, without(entry, Part::kEmbedding), modules);
  add_scaled(total, without(weights_of(draft.head, config, engine), Part::kHead), modules);
  for (const std::vector<std::size_t>& module : draft.modules) {
    for (const std::size_t layer : module) {
      add_scaled(total, weights_of(draft.layers[layer], config, engine), 1);
      if (engine.absorbed_copies) total[static_cast<std::size_t>(Part::kAttention)] += absorbed_copies(draft.layers[layer]);
    }
  }
  double sum = embedding;
  for (const double part : total) sum += part;
  return sum;
}

// Caches and states of a layer, one term for each window: each name once (a mixed graph names the same cache in both phases).
std::vector<Ledger::CacheTerm> cache_of(const StepGraph& graph) {
  std::vector<Ledger::CacheTerm> terms;
  double per_request = 0;
  std::vector<std::string> seen;
  for (const Value& value : graph.values) {
    const Tensor& tensor = graph.logical.tensor(value.tensor);
    if (tensor.lifetime != Lifetime::kCache || std::find(seen.begin(), seen.end(), tensor.name) != seen.end()) continue;
    seen.emplace_back(tensor.name);
    const double whole = static_cast<double>(fixed_elements(graph, tensor, value.placement)) * element_bytes(tensor);
    if (tensor.has(Dim::kRequests)) {
      per_request += whole;
      continue;
    }
    auto term = std::find_if(terms.begin(), terms.end(), [&](const Ledger::CacheTerm& t) { return t.window == tensor.window && t.every == tensor.every; });
    if (term == terms.end()) term = terms.insert(terms.end(), {.window = tensor.window, .every = tensor.every});
    term->bytes_per_token += whole / static_cast<double>(position_parts(graph, value.placement));
  }
  if (terms.empty()) terms.emplace_back();
  terms.front().bytes_per_request = per_request;
  return terms;
}

// Calls visit(terms, layers, states) for the kinds of layers that a stage holds: its own, and on the last stage those that
// draft. A recurrent state is kept `states` times, behind each token that may turn out to be the last.
template <class Visit>
void for_each_cached_layer(const ModelSpec& model, const LoweredModel& lowered, const StageLayers& stage, Visit visit) {
  const StageGraphs& graphs = lowered.forms.front();
  for (std::size_t k = 0; k < graphs.layers.size(); ++k) {
    if (stage.of_kind[k] == 0) continue;
    const bool recurrent = model.kinds[k].attention.kind == AttentionKind::kRecurrent;
    visit(cache_of(graphs.layers[k]), stage.of_kind[k], recurrent ? 1 + lowered.drafts : 1);
  }
  if (!stage.is_last || !graphs.draft) return;
  for (const std::vector<std::size_t>& module : graphs.draft->modules) {
    for (const std::size_t layer : module) visit(cache_of(graphs.draft->layers[layer]), 1, 1);
  }
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

Bytes scaled(Bytes bytes, double ratio) { return Bytes(static_cast<std::int64_t>(static_cast<double>(bytes.value()) * ratio)); }

// Pixels and embeddings of as many image tokens as the step has, on the stage that sees images.
Bytes image_bytes(const ModelSpec& model, const StageGraphs& graphs, const BatchShape& shape) {
  if (model.vision_values_per_token == 0) return Bytes(0);
  const double element = element_bytes(graphs.embedding.tensor_of(graphs.embedding.residual_out));
  const double values = static_cast<double>(model.vision_values_per_token + model.hidden);
  return Bytes(static_cast<std::int64_t>(residual_tokens(graphs.embedding, shape) * values * element));
}

// The forward through the stage's graphs, or sampling after it beside what the forward leaves.
Bytes stage_activations(const ModelSpec& model, const StageGraphs& graphs, const StageLayers& stage, const BatchShape& shape, const StepBuffers& buffers) {
  Bytes forward;
  Bytes kept;
  for (std::size_t k = 0; k < graphs.layers.size(); ++k) {
    if (stage.of_kind[k] == 0) continue;
    forward = std::max(forward, activation_peak(graphs.layers[k], shape, buffers));
    if (buffers.keeps_expert_buffers) kept = std::max(kept, expert_buffers(graphs.layers[k], shape, buffers));
  }
  if (stage.is_first) forward = std::max(forward, activation_peak(graphs.embedding, shape, buffers));
  if (stage.is_last && graphs.draft) {
    for (const StepGraph& layer : graphs.draft->layers) forward = std::max(forward, activation_peak(layer, shape, buffers));
    forward = std::max(forward, activation_peak(graphs.draft->entry, shape, buffers));
  }
  const Bytes stream = residual_bytes(graphs.embedding, shape);
  if (stage.is_first && buffers.keeps_embedded) forward += stream;
  Bytes most = forward + buffers.benchmark;
  if (stage.is_last) most = std::max(most, kept + activation_peak(graphs.head, shape, buffers));
  if (!stage.is_first && buffers.keeps_stage_inputs) most += scaled(stream, 2);
  if (stage.is_first && buffers.keeps_images) most += image_bytes(model, graphs, shape);
  return most + buffers.library;
}

double request_bytes(const std::vector<Ledger::CacheTerm>& terms, std::int64_t tokens, std::int64_t block) {
  double bytes = 0;
  for (const Ledger::CacheTerm& term : terms) {
    std::int64_t held = tokens;
    if (term.window > 0) held = std::min(held, term.window - 1 + block);   // the window begins within a block
    held = ceil_div(held, block) * block / term.every * term.every;         // an entry that is not whole is not there yet
    bytes += static_cast<double>(held) * term.bytes_per_token + term.bytes_per_request;
  }
  return bytes;
}

// What experts of a layer move through, and the communicators of the next layout beside those of this one.
void add_elastic(const EngineMemory& engine, const ParallelConfig& config, const StageGraphs& graphs, const StageLayers& stage, std::vector<LedgerItem>& items) {
  double most = 0;
  for (std::size_t k = 0; k < graphs.layers.size(); ++k) {
    if (stage.of_kind[k] > 0) most = std::max(most, weights_of(graphs.layers[k], config, engine)[static_cast<std::size_t>(Part::kExperts)]);
  }
  items.push_back({kElasticStaging, Bytes(static_cast<std::int64_t>(most))});
  items.push_back({"standby communicators", engine.communicators});
}

std::vector<LedgerItem> workspace_of(const EngineMemory& engine, const ParallelConfig& config, const StageLayers& stage) {
  const Bytes graphs = engine.graphs + scaled(engine.graphs_per_layer, static_cast<double>(stage.count));
  std::vector<LedgerItem> items{{"device context", engine.context}};
  if (graphs > Bytes(0)) items.push_back({"cuda graphs", graphs});
  if (config.instance_gpus() > 1 && engine.communicators > Bytes(0)) items.push_back({"communicators", engine.communicators});
  return items;
}

// Bytes that the engine gives to the cache, negative when something does not fit.
Bytes left_for_cache(const StageLedger& stage, Bytes capacity, const EngineMemory& engine) {
  const Bytes all = capacity - stage.weights_bytes - stage.activation_bytes - stage.workspace_bytes;
  const Bytes lasting = stage.workspace_bytes - engine.graphs;   // context and communicators: there before the weights
  const auto part = [&engine](Bytes of) { return Bytes(static_cast<std::int64_t>(static_cast<double>(of.value()) * engine.memory_fraction_ratio)); };
  switch (engine.fraction_of) {
    case FractionOf::kDevice: return all;
    case FractionOf::kStatic: return std::min(all, part(capacity - lasting) - stage.weights_bytes);
    case FractionOf::kLeft: return std::min(all, part(all + engine.graphs));
  }
  return all;
}

StageLedger make_stage(const ModelSpec& model, const ParallelConfig& config, const LoweredModel& lowered, const StageLayers& stage,
                       Bytes capacity, const EngineMemory& engine, const MemoryDemand& demand, std::vector<Ledger::CacheTerm>& terms) {
  const StageGraphs& graphs = lowered.forms.front();
  StageLedger ledger{.layers = stage};
  PartBytes weights{};
  for (std::size_t k = 0; k < graphs.layers.size(); ++k) {
    if (stage.of_kind[k] == 0) continue;
    const auto count = static_cast<double>(stage.of_kind[k]);
    add_scaled(weights, weights_of(graphs.layers[k], config, engine), count);
    if (engine.absorbed_copies) weights[static_cast<std::size_t>(Part::kAttention)] += absorbed_copies(graphs.layers[k]) * count;
  }
  for_each_cached_layer(model, lowered, stage, [&](const std::vector<Ledger::CacheTerm>& layer, std::int64_t layers, std::int64_t states) {
    const auto count = static_cast<double>(layers);
    for (const Ledger::CacheTerm& cache : layer) {
      ledger.kv_bytes_per_token += cache.bytes_per_token * count;
      terms.push_back({cache.window, cache.every, cache.bytes_per_token * count, cache.bytes_per_request * static_cast<double>(layers * states)});
    }
  });
  if (stage.is_first) add_scaled(weights, weights_of(graphs.embedding, config, engine), 1);
  if (stage.is_last) {
    PartBytes head = weights_of(graphs.head, config, engine);
    const bool shares_table = model.tied_embeddings && stage.is_first;   // one table serves both ends of one stage
    if (shares_table) head[static_cast<std::size_t>(Part::kHead)] = 0;
    add_scaled(weights, head, 1);
  }
  ledger.weights = items_of(weights);
  if (stage.is_last && graphs.draft)
    ledger.weights.push_back({"draft", Bytes(static_cast<std::int64_t>(draft_weights(*graphs.draft, config, engine, stage.is_first || model.tied_embeddings)))});
  if (engine.rotary_tables && model.rotary_elements > 0) {
    const double element = element_bytes(graphs.embedding.tensor_of(graphs.embedding.residual_out));
    ledger.weights.push_back({"rotary tables", scaled(Bytes(model.rotary_elements), element)});
  }
  if (engine.vision_tower && stage.is_first && model.vision_parameters > 0) {
    const auto parts = static_cast<double>(model.vision_heads % config.tp == 0 ? config.tp : 1);
    ledger.weights.push_back({"vision tower", scaled(Bytes(model.vision_parameters), 2.0 / parts)});
  }
  for (const LedgerItem& item : ledger.weights) ledger.weights_bytes += item.bytes;
  for (const StageGraphs& form : lowered.forms)
    ledger.activation_bytes = std::max(ledger.activation_bytes, stage_activations(model, form, stage, demand.largest_step, engine.step));
  ledger.workspace = workspace_of(engine, config, stage);
  if (config.variant.elastic_ep) add_elastic(engine, config, graphs, stage, ledger.workspace);
  for (const LedgerItem& item : ledger.workspace) ledger.workspace_bytes += item.bytes;
  const Bytes left = left_for_cache(ledger, capacity, engine);
  if (left < Bytes(0)) ledger.missing_bytes = Bytes(0) - left;
  else ledger.kv_pool_bytes = left;
  return ledger;
}

// An engine that claims its fraction of all memory does not start when that much is not free.
std::string claim_refused(const Ledger& ledger, const EngineMemory& engine) {
  const Bytes free = ledger.device_bytes - engine.held;
  if (engine.fraction_of != FractionOf::kDevice || ledger.capacity_bytes <= free) return "";
  return fmt::format("other processes hold {} of {}, so that a memory fraction of {:.2f} is not free: at most {:.2f} is", format_bytes(engine.held),
                     format_bytes(ledger.device_bytes), engine.memory_fraction_ratio, std::floor(100 * (free / ledger.device_bytes)) / 100);
}

void judge(Ledger& ledger, const EngineMemory& engine, const MemoryDemand& demand) {
  ledger.misfit = claim_refused(ledger, engine);
  if (!ledger.misfit.empty()) return;
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
    const double need = ledger.paged() ? static_cast<double>(ledger.pages.pages_to_admit(tokens)) * ledger.pages.page_bytes[s]
                                       : request_bytes(ledger.cache_terms[s], tokens, ledger.block_tokens);
    if (need <= static_cast<double>(pool.value())) continue;
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
    if (ledger.paged()) return ledger.pages.pages_to_admit(tokens) <= ledger.pages.pages;
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

CachedLayers& kind_of(std::vector<CachedLayers>& layers, const CachedLayers& wanted) {
  const auto it = std::find_if(layers.begin(), layers.end(), [&wanted](const CachedLayers& other) {
    return other.window == wanted.window && other.bytes_per_token == wanted.bytes_per_token &&
           other.bytes_per_request == wanted.bytes_per_request;
  });
  return it == layers.end() ? layers.emplace_back(wanted) : *it;
}

// One entry for each way in which layers cache; only models with windows or states share pages.
void share_pages(Ledger& ledger, const ModelSpec& model, const LoweredModel& lowered, const std::vector<StageLayers>& stages,
                 const MemoryDemand& demand) {
  std::vector<CachedLayers> layers;
  bool differ = false;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    for_each_cached_layer(model, lowered, stages[s], [&](const std::vector<Ledger::CacheTerm>& terms, std::int64_t count, std::int64_t states) {
      for (const Ledger::CacheTerm& cache : terms) {
        if (cache.bytes_per_token == 0 && cache.bytes_per_request == 0) continue;
        differ = differ || cache.window > 0 || cache.bytes_per_request > 0;
        CachedLayers& kind = kind_of(layers, {cache.window, cache.bytes_per_token, cache.bytes_per_request, states, {}});
        kind.of_stage.resize(stages.size());
        kind.of_stage[s] += count;
      }
    });
  }
  if (!differ) return;
  std::vector<Bytes> pools;
  for (const StageLedger& stage : ledger.stages) pools.push_back(stage.kv_pool_bytes);
  const BatchShape& step = demand.largest_step;
  const std::int64_t tokens = step.prefill_tokens + step.decode_tokens * step.decode_sequences / std::max<std::int64_t>(1, ledger.attention_groups);
  ledger.pages = make_page_pool(layers, pools, ledger.block_tokens, tokens);
  ledger.block_tokens = ledger.pages.block_tokens();
}

// Of one attention group, as the engine would print it.
std::int64_t printed_tokens(const Ledger& ledger, PrintedTokens rule, std::int64_t length) {
  if (ledger.paged()) {
    if (rule == PrintedTokens::kPagesOverGroups) return ledger.pages.pages / ledger.pages.groups() * ledger.pages.block_tokens();
    const double requests = static_cast<double>(ledger.pages.pages) / static_cast<double>(ledger.pages.pages_to_admit(length));
    return static_cast<std::int64_t>(requests * static_cast<double>(length));
  }
  bool differ = false;
  for (const auto& terms : ledger.cache_terms) {
    for (const Ledger::CacheTerm& term : terms) differ = differ || term.window > 0 || term.bytes_per_request > 0;
  }
  return differ ? ledger.request_capacity(length) / ledger.attention_groups * length : ledger.group_capacity_tokens;
}

}  // namespace

Bytes usable_bytes(const EngineMemory& engine, Bytes device) {
  if (engine.fraction_of == FractionOf::kLeft) return device - engine.held;
  const Bytes whole = engine.fraction_of == FractionOf::kStatic ? device - engine.held : device;
  return Bytes(static_cast<std::int64_t>(std::floor(static_cast<double>(whole.value()) * engine.memory_fraction_ratio)));
}

double Ledger::cache_bytes(std::size_t stage, std::int64_t tokens) const {
  if (paged()) return static_cast<double>(pages.pages_to_run(tokens)) * pages.page_bytes[stage];
  return request_bytes(cache_terms[stage], tokens, block_tokens);
}

std::int64_t Ledger::request_capacity(std::int64_t tokens) const {
  if (paged()) return pages.pages / pages.pages_to_run(tokens) * attention_groups;
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
  ledger.device_bytes = hardware.device.visible_memory();
  ledger.capacity_bytes = engine.fraction_of == FractionOf::kDevice ? usable_bytes(engine, ledger.device_bytes) : ledger.device_bytes - engine.held;
  ledger.attention_groups = config.dpa;
  ledger.block_tokens = engine.block_size * cp_parts(lowered.forms.front());
  ledger.cache_terms.resize(stages.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    ledger.stages.push_back(make_stage(model, config, lowered, stages[s], ledger.capacity_bytes, engine, demand, ledger.cache_terms[s]));
    ledger.kv_bytes_per_token = std::max(ledger.kv_bytes_per_token, ledger.stages.back().kv_bytes_per_token);
  }
  if (engine.shares_pages) share_pages(ledger, model, lowered, stages, demand);
  ledger.group_capacity_tokens = longest_request(ledger);
  ledger.kv_capacity_tokens = printed_tokens(ledger, engine.printed, std::max<std::int64_t>(1, demand.request_tokens)) * config.dpa;
  judge(ledger, engine, demand);
  return ledger;
}

}  // namespace shardplan
