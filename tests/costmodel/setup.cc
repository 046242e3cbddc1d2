#include "tests/costmodel/setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "costmodel/traffic.h"

namespace shardplan {
namespace {

std::vector<std::int64_t> split_of(const ModelSpec& model, const ParallelConfig& config) {
  return config.pp_layers.empty() ? even_layer_split(model.layer_count(), config.pp) : config.pp_layers;
}

template <class Row, class Match>
const Row& only_row(const std::vector<Row>& rows, Match match) {
  ensure(std::count_if(rows.begin(), rows.end(), match) == 1, "the breakdown needs exactly one such row");
  return *std::find_if(rows.begin(), rows.end(), match);
}

const ExpertsOp* experts_of(const StepGraph& graph) {
  for (const LogicalOp& op : graph.logical.ops) {
    if (op.kind == OpKind::kExperts) return &op.experts;
  }
  return nullptr;
}

}  // namespace

GraphFormats default_formats(const ModelSpec& model) {
  return {.activation = find_format("bf16"), .kv = model.kv_format, .dispatch = nullptr};
}

LoweredModel lower_without_mask(const ModelSpec& model, const ParallelConfig& config) {
  const GraphFormats formats = default_formats(model);
  LoweredModel lowered = lower_model(model, config, formats);
  for (StageGraphs& graphs : lowered.forms) {
    const Strategy strategy = build_strategy(model, config, graphs.form);
    for (std::size_t k = 0; k < graphs.layers.size(); ++k) {
      LogicalGraph layer = layer_graph(model, model.kinds[k], graphs.form, formats);
      for (LogicalOp& op : layer.ops) op.attention.causal = false;
      graphs.layers[k] = lower(std::move(layer), strategy, graphs.form);
    }
  }
  return lowered;
}

Setup::Setup(ModelSpec model, ParallelConfig config, HardwareProfile hardware, PriceMode mode)
    : Setup(model, config, lower_model(model, config, default_formats(model)), std::move(hardware), mode) {}

Setup::Setup(ModelSpec model, ParallelConfig config, LoweredModel lowered, HardwareProfile hardware, PriceMode mode)
    : model_(std::move(model)),
      config_(std::move(config)),
      hardware_(std::move(hardware)),
      lowered_(std::move(lowered)),
      stages_(stage_layers(model_, split_of(model_, config_))),
      fabric_(hardware_, config_.instance_gpus()),
      collectives_(hardware_, fabric_, mode),
      pricer_(model_, config_, lowered_, collectives_, {.mode = mode, .expert_load = {}}) {}

Ledger Setup::ledger(const EngineMemory& engine, const MemoryDemand& demand) const {
  return make_ledger(model_, config_, lowered_, stages_, hardware_, engine, demand);
}

const OpRow& op_row(const StepBreakdown& breakdown, const std::string& name) {
  return only_row(breakdown.ops, [&](const OpRow& row) { return row.name == name; });
}

const CollectiveRow& collective_row(const StepBreakdown& breakdown, const std::string& name, const std::string& kind) {
  return only_row(breakdown.collectives,
                  [&](const CollectiveRow& row) { return row.name == name && row.kind == kind; });
}

std::vector<std::string> collective_lines(const StepGraph& graph, const BatchShape& shape,
                                          const ParallelConfig& config) {
  std::optional<ExpertLoadModel> load;
  if (const ExpertsOp* op = experts_of(graph))
    load.emplace(ExpertLoad{}, op->experts, op->per_token, config.ep, config.variant.redundant_experts);
  std::vector<std::string> lines;
  for (const Node& node : graph.nodes) {
    if (!communicates(node.kind)) continue;
    const TrafficForm form = traffic_form(graph, node, load ? &*load : nullptr);
    const double sent = form.sent_ratio * evaluate(form.symbol, shape);
    if (sent <= 0) continue;
    lines.push_back(fmt::format("{} {} over {}: {:.9g}", node_kind_name(node.kind),
                                graph.tensor_of(node.inputs[0]).name, form.group_size, sent));
  }
  return lines;
}

std::vector<std::string> layer_collectives(const ModelSpec& model, const ParallelConfig& config,
                                           const BatchShape& shape, std::size_t kind) {
  const LoweredModel lowered = lower_model(model, config, default_formats(model));
  const StageGraphs& graphs = lowered.serving(shape.decode_sequences > 0 ? Phase::kDecode : Phase::kPrefill);
  return collective_lines(graphs.layers[kind], shape, config);
}

}  // namespace shardplan
