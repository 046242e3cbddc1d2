#include "costmodel/lowering/registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "costmodel/lowering/modules.h"

namespace shardplan {
namespace {

// Strides of every axis of a stage; see Mesh.
std::vector<std::int64_t> stage_strides(const ModelSpec& model, const ParallelConfig& c) {
  std::vector<std::int64_t> strides{1, c.tp, c.pcp * c.tp, c.stage_ranks(), c.ep_stride(), c.moe_tp_stride(), c.moe_tp * c.ep,
                                    dense_width(model, c), shared_width(model, c)};
  if (c.pcp == 1) strides.push_back(c.dcp);
  return strides;
}

// Sizes are positive and the FFN uses the ranks of the stage.
void check_sizes(const ModelSpec& model, const ParallelConfig& c, std::vector<Violation>& out) {
  const auto positive = [&out](const char* name, std::int64_t value) {
    if (value < 1 || value > 1'000'000) out.push_back({"degree_range", fmt::format("{} is {}; it must be 1 to 1,000,000", name, value)});
  };
  positive("replicas", c.replicas);
  positive("pp", c.pp);
  positive("dpa", c.dpa);
  positive("pcp", c.pcp);
  positive("tp", c.tp);
  positive("dcp", c.dcp);
  positive("moe_tp", c.moe_tp);
  positive("ep", c.ep);
  positive("moe_dp", c.moe_dp);
  if (!out.empty()) return;
  if (!model.is_moe() && c.moe_tp * c.ep * c.moe_dp != 1) {
    out.push_back({"moe_degrees", "a dense model has no experts: moe_tp, ep and moe_dp must be 1"});
  }
  if (model.is_moe() && c.moe_tp * c.ep * c.moe_dp != c.stage_ranks()) {
    out.push_back({"ffn_ranks", fmt::format("moe_tp {} x ep {} x moe_dp {} = {} ranks, but dpa x pcp x tp = {}", c.moe_tp, c.ep,
                                            c.moe_dp, c.moe_tp * c.ep * c.moe_dp, c.stage_ranks())});
  }
  for (const std::int64_t width : {dense_width(model, c), shared_width(model, c)}) {
    if (width < 1 || c.stage_ranks() % width != 0) {
      out.push_back({"ffn_width", fmt::format("an FFN width of {} does not divide the stage's {} ranks", width, c.stage_ranks())});
    }
  }
}

// The model with the layers of its MTP modules among the kinds that must be legal.
ModelSpec with_mtp_kinds(ModelSpec model) {
  model.kinds.insert(model.kinds.end(), model.mtp_layers.begin(), model.mtp_layers.end());
  return model;
}

void check_mesh(const ModelSpec& model, const ParallelConfig& c, std::vector<Violation>& out) {
  if (!Mesh::refine(c.stage_ranks(), stage_strides(model, c))) {
    out.push_back({"mesh_nesting", fmt::format("attention (dpa {}, pcp {}, tp {}, dcp {}) and FFN (moe_dp {}, ep {}, moe_tp {}) "
                                               "factorise {} ranks in ways that do not nest",
                                               c.dpa, c.pcp, c.tp, c.dcp, c.moe_dp, c.ep, c.moe_tp, c.stage_ranks())});
  }
}

Axes stage_axes(const Mesh& mesh, const ModelSpec& model, const ParallelConfig& c) {
  Axes axes;
  axes.tp = mesh.digits_between(1, c.tp);
  axes.pcp = mesh.digits_between(c.tp, c.tp * c.pcp);
  axes.dpa = mesh.digits_between(c.tp * c.pcp, c.stage_ranks());
  axes.heads = axes.tp;
  if (c.dcp > 1 && c.pcp == 1) {
    axes.cp = mesh.digits_between(1, c.dcp);
    axes.heads = mesh.digits_between(c.dcp, c.tp);
  } else if (c.dcp > 1) {
    axes.cp = axes.pcp;
    if (c.dcp == c.pcp * c.tp) {
      axes.cp = mesh.digits_between(1, c.pcp * c.tp);
      axes.heads.clear();
    }
  }
  axes.moe_tp = mesh.digits_between(c.moe_tp_stride(), c.moe_tp_stride() * c.moe_tp);
  axes.ep = mesh.digits_between(c.ep_stride(), c.ep_stride() * c.ep);
  axes.moe_dp = mesh.digits_between(c.moe_tp * c.ep, c.stage_ranks());
  axes.dense = mesh.digits_between(1, dense_width(model, c));
  axes.shared = mesh.digits_between(1, shared_width(model, c));
  return axes;
}

}  // namespace

const std::vector<StrategyModule>& strategy_modules() {
  static const std::vector<StrategyModule> modules{
      attention_dp_module(),           prefill_context_parallel_module(), tensor_parallel_module(),
      decode_context_parallel_module(), helix_module(),                    expert_parallel_module(),
      capacity_factor_module(),
      pipeline_module(),               speculation_module(),
  };
  return modules;
}

std::vector<Violation> check_config(const ModelSpec& model, const ParallelConfig& config) {
  std::vector<Violation> out;
  check_sizes(model, config, out);
  if (!out.empty()) return out;
  const bool drafts = config.variant.speculative_tokens > 0 && !model.mtp_layers.empty();
  const ModelSpec drafting = drafts ? with_mtp_kinds(model) : ModelSpec{};
  for (const StrategyModule& module : strategy_modules()) module.check(drafts ? drafting : model, config, out);
  if (out.empty()) check_mesh(model, config, out);
  return out;
}

Strategy build_strategy(const ModelSpec& model, const ParallelConfig& config, StepForm form) {
  Strategy strategy;
  const auto mesh = Mesh::refine(config.stage_ranks(), stage_strides(model, config));
  ensure(mesh.has_value(), "build_strategy needs a legal configuration");
  strategy.mesh = *mesh;
  strategy.axes = stage_axes(*mesh, model, config);
  const StrategyContext context{model, config, form};
  for (const StrategyModule& module : strategy_modules()) module.apply(context, strategy);
  return strategy;
}

std::int64_t dense_width(const ModelSpec& model, const ParallelConfig& c) {
  if (c.dense_tp > 0) return c.dense_tp;
  return !model.is_moe() && c.dpa > 1 ? c.stage_ranks() : c.tp;
}

std::int64_t shared_width(const ModelSpec& model, const ParallelConfig& c) {
  if (c.shared_expert_tp > 0) return c.shared_expert_tp;
  return c.variant.moe_comm == MoeComm::kAllToAll && c.ep > 1 ? 1 : dense_width(model, c);
}

bool splits_residual(const ModelSpec& model, const ParallelConfig& c) {
  if (c.stage_ranks() == 1) return false;
  if (model.is_moe()) return c.variant.moe_comm != MoeComm::kReplicated;
  return c.dpa > 1 && dense_width(model, c) > c.tp * c.pcp;
}

}  // namespace shardplan
