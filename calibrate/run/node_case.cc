#include "calibrate/run/node_case.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "calibrate/proof.h"
#include "calibrate/records/record.h"
#include "costmodel/expert_load.h"
#include "costmodel/lower.h"
#include "costmodel/lowering/registry.h"
#include "costmodel/traffic.h"
#include "costmodel/work.h"

namespace shardplan {
namespace {

using Shape = std::vector<std::pair<std::string, std::int64_t>>;

std::int64_t rounded(double value) { return std::llround(value); }

std::int64_t local_extent(const StepGraph& graph, ValueId id, Dim dim) {
  const Tensor& tensor = graph.tensor_of(id);
  return tensor.has(dim) ? max_held(graph.mesh, graph.value(id).placement.of(dim), tensor.extent(dim)) : 1;
}

Shape product_fields(const WorkForm& form, double rows) {
  std::int64_t n = 0;
  for (const ProductShape& product : form.products) n += product.n;
  return {{"m", rounded(rows)}, {"n", n}, {"k", form.products.front().k}, {"batch", form.products.front().batch}};
}

// Of the keys, those that a latent cache was expanded to included; 1: all heads read the latent itself.
std::int64_t local_kv_heads(const StepGraph& graph, ValueId keys) {
  return local_extent(graph, keys, graph.tensor_of(keys).has(Dim::kKvHeads) ? Dim::kKvHeads : Dim::kHeads);
}

Shape attention_fields(const StepGraph& graph, const Node& node, const BatchShape& shape, double pairs) {
  const AttentionOp& op = graph.op_of(node).attention;
  const bool decode = op.phase == Phase::kDecode;
  const std::int64_t sequences = decode ? shape.decode_sequences : shape.prefill_sequences;
  return {{"batch", sequences}, {"tokens", decode ? 1 : shape.prefill_tokens}, {"context", rounded(decode ? shape.decode_context : shape.prefill_prefix)},
          {"heads", local_extent(graph, node.inputs[0], Dim::kHeads)}, {"kv_heads", local_kv_heads(graph, node.inputs[1])},
          {"qk_dim", op.qk_dim}, {"v_dim", op.v_dim}, {"window", op.window}, {"pairs", rounded(pairs)}};
}

// Tiles are what products of each expert's rows are launched for: see ExpertsShape.
Shape expert_fields(const StepGraph& graph, const Node& node, const WorkForm& form, double tokens, const RankRows& rows) {
  return {{"tokens", rounded(tokens)}, {"rows", rows.rows()}, {"experts", std::ssize(rows.of_expert)},
          {"per_token", graph.op_of(node).experts.per_token}, {"n", form.products[0].n}, {"k", form.products[0].k},
          {"active", rows.active()}, {"fullest", rows.fullest()}, {"tiles_16", rows.tiles(16)}, {"tiles_32", rows.tiles(32)}, {"tiles_64", rows.tiles(64)}, {"tiles_128", rows.tiles(128)}};
}

// A layer's experts under one load.
struct Load {
  ExpertLoad load;
  ExpertLoadModel model;
  std::int64_t experts = 0;
  std::int64_t per_token = 0;
  std::int64_t ep = 1;
  [[nodiscard]] std::shared_ptr<const DrawnRouting> draw(double tokens) const {
    return std::make_shared<const DrawnRouting>(draw_routing(load, experts, per_token, std::max<std::int64_t>(rounded(tokens), 1)));
  }
};

class Collector {
 public:
  explicit Collector(const BatchShape& shape) : shape_(shape), batch_(RaggedBatch::from(shape)) {}

  void add(const std::shared_ptr<const StepGraph>& graph, std::size_t index, const Load* load) {
    const Node& node = graph->nodes[index];
    NodeCase c{.ranks = graph->mesh.ranks(), .graph = graph, .node = index, .batch = batch_};
    if (load != nullptr) c.routing = load->draw(static_cast<double>(shape_.tokens()));
    if (computes(node.kind)) {
      if (!fill_work(*graph, node, load, c)) return;
    } else if (communicates(node.kind)) {
      if (!fill_traffic(*graph, node, load, c)) return;
    } else {
      return;
    }
    keep(c);
    if (c.kind != family_name(KernelFamily::kSampling)) return;
    c.op = kDrawnSampling;
    keep(c);
  }

  void at(const BatchShape& shape) {
    shape_ = shape;
    batch_ = RaggedBatch::from(shape);
  }

  std::vector<NodeCase> cases;

 private:
  void keep(const NodeCase& c) {
    if (seen_.insert(c.key()).second) cases.push_back(c);
  }

  bool fill_work(const StepGraph& graph, const Node& node, const Load* load, NodeCase& c) const {
    const WorkForm form = work_form(graph, node);
    if (form.terms.empty()) return false;
    const double rows = evaluate(form.terms.front().symbol, shape_);
    if (rows <= 0) return false;
    c.kind = family_name(form.family);
    c.format = form.format != nullptr ? std::string(form.format->name) : "";
    double pairs = 0;
    for (const WorkTerm& term : form.terms) {
      const double value = evaluate(term.symbol, shape_);
      c.flops += term.flops * value;
      c.bytes += term.bytes * value;
      if (term.flops > 0) pairs = value;
    }
    c.bytes += form.weight_bytes;
    if (form.grouped) {
      const double tokens = rows * form.tokens_ratio;
      if (rounded(tokens) != c.routing->tokens()) c.routing = load->draw(tokens);
      const RankRows busiest = busiest_rank_rows(*c.routing, load->load, load->experts, load->ep);
      if (busiest.rows() == 0) return false;
      c.first_expert = busiest.first_expert;
      c.flops = static_cast<double>(busiest.rows()) * form.flops_per_row;
      c.bytes = static_cast<double>(busiest.rows()) * form.bytes_per_row + static_cast<double>(busiest.active()) * form.bytes_per_expert;
      c.shape = expert_fields(graph, node, form, tokens, busiest);
    } else if (form.family == KernelFamily::kGemm) {
      c.shape = product_fields(form, rows);
    } else if (graph.op_of(node).kind == OpKind::kAttention) {
      c.shape = attention_fields(graph, node, shape_, pairs);
    } else {
      const bool attends = form.family == KernelFamily::kAttentionDecode || form.family == KernelFamily::kAttentionPrefill;   // an indexer
      if (!attends) c.op = op_name(graph.op_of(node).kind);
      c.shape = {{"rows", rounded(rows)}, {"row_bytes", rounded(c.bytes / rows)}};
    }
    return true;
  }

  bool fill_traffic(const StepGraph& graph, const Node& node, const Load* load, NodeCase& c) const {
    const TrafficForm form = traffic_form(graph, node, load != nullptr ? &load->model : nullptr);
    const double units = evaluate(form.symbol, shape_);
    if (form.group_size < 2 || units <= 0) return false;
    c.kind = collective_name(form.kind);
    c.bytes = moved_bytes(form, load != nullptr ? &load->model : nullptr, units).sent;
    c.shape = {{"group", form.group_size}, {"message_bytes", rounded(form.message_ratio * units)}};
    return true;
  }

  BatchShape shape_;
  RaggedBatch batch_;
  std::set<std::string> seen_;
};

// The loads of a layer kind; one that is no load where it has no routed experts.
std::vector<std::optional<Load>> loads_of(const RunPlan& plan, const ModelSpec& model, const ParallelConfig& config, std::size_t kind) {
  if (kind >= model.kinds.size() || model.kinds[kind].ffn.kind != FfnKind::kMoe) return {std::nullopt};
  const FfnSpec& ffn = model.kinds[kind].ffn;
  std::vector<std::optional<Load>> loads;
  for (const ExpertLoad& load : plan.loads) {
    loads.emplace_back(Load{load, ExpertLoadModel(load, ffn.experts, ffn.experts_per_token, config.ep, config.variant.redundant_experts,
                                                 config.variant.capacity_factor_ratio), ffn.experts,
                            ffn.experts_per_token, config.ep});
  }
  return loads;
}

void collect(const RunPlan& plan, const ModelSpec& model, const ParallelConfig& config, const BatchShape& shape, Collector& collector) {
  const StepForm form = shape.decode_sequences > 0 && shape.prefill_sequences > 0 ? StepForm::kMixed
                        : shape.decode_sequences > 0                             ? StepForm::kDecode
                                                                                 : StepForm::kPrefill;
  LoweredProgram lowered = lower_program(model, config, form, std::nullopt);
  collector.at(shape);
  for (std::size_t g = 0; g < lowered.graphs.size(); ++g) {   // layer kinds first, in order
    const auto loads = loads_of(plan, model, config, g);
    const std::shared_ptr<const StepGraph> graph = std::move(lowered.graphs[g]);
    for (const auto& load : loads) {
      for (std::size_t i = 0; i < graph->nodes.size(); ++i) collector.add(graph, i, load ? &*load : nullptr);
    }
  }
}

}  // namespace

std::string NodeCase::key() const { return measurement_key(op.empty() ? kind : kind + "." + op, format, shape, ranks); }

std::vector<NodeCase> node_cases(const RunPlan& plan) {
  Collector collector(BatchShape{.decode_sequences = 1, .decode_context = 1});
  for (const ModelSpec& model : plan.models) {
    for (const ParallelConfig& config : plan.configs) {
      if (!check_config(model, config).empty()) continue;
      for (const BatchShape& shape : plan.shapes) {
        try {
          collect(plan, model, config, shape, collector);
        } catch (const LoweringRefusal&) {
          continue;   // the table has no graph
        }
      }
    }
  }
  return std::move(collector.cases);
}

}  // namespace shardplan
