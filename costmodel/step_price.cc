#include "costmodel/step_price.h"

#include <algorithm>

#include "base/errors.h"
#include "base/quantity.h"
#include "costmodel/compiled_graph.h"

namespace shardplan {
namespace {

struct CompiledForm {
  const StageGraphs* graphs = nullptr;
  SymbolTable symbols;
  std::vector<CompiledGraph> layers;
  std::optional<CompiledGraph> embedding;
  std::optional<CompiledGraph> head;
  std::optional<CompiledGraph> boundary;
  std::optional<CompiledGraph> draft_entry;
  std::vector<CompiledGraph> draft_layers;
  std::optional<CompiledGraph> draft_head;
};

struct Values {
  SymbolTable::Values busiest;
  SymbolTable::Values mean;
};

// The drafts of a step beyond its modules: one token of each decode, behind those that were drafted before.
BatchShape drafted_again(BatchShape shape) {
  shape.prefill_sequences = 0;
  shape.decode_tokens = 1;
  return shape;
}

BatchShape only(const BatchShape& shape, Phase phase) {
  BatchShape part = shape;
  if (phase == Phase::kDecode) part.prefill_sequences = 0;
  else part.decode_sequences = 0;
  return part;
}

}  // namespace

StepTime& operator+=(StepTime& a, const StepTime& b) {
  a.seconds += b.seconds;
  a.compute += b.compute;
  a.communication += b.communication;
  a.exposed_communication += b.exposed_communication;
  a.overhead += b.overhead;
  a.wait += b.wait;
  for (std::size_t i = 0; i < kStepParts; ++i) a.parts[i] += b.parts[i];
  return a;
}

StepTime operator*(const StepTime& a, double k) {
  StepTime out{a.seconds * k, a.compute * k, a.communication * k, a.exposed_communication * k, a.overhead * k, a.wait * k, a.parts};
  for (double& part : out.parts) part *= k;
  return out;
}

double FusedAllReduce::limit_of(std::int64_t ranks) const {
  for (const Limit& limit : limits) {
    if (limit.ranks == ranks) return limit.message_bytes;
  }
  return 0;
}

struct StepPricer::Impl {
  std::vector<std::optional<ExpertLoadModel>> experts;         // by layer kind
  std::int64_t expert_copies = 1;                              // groups that share no experts (moe_dp)
  std::vector<std::optional<ExpertLoadModel>> draft_experts;   // by layer of the MTP modules
  std::int64_t drafts = 0;
  std::vector<CompiledForm> forms;
  bool mixes = true;
  StepFactors factors;
  FusedAllReduce fused;

  void compile(const StageGraphs& graphs, const CollectivePricer& collectives, const std::vector<GroupShape::Axis>& axes,
               const GroupShape& boundary) {
    CompiledForm form;
    form.graphs = &graphs;
    const auto compiled = [&](const StepGraph& graph, const ExpertLoadModel* load) {
      return CompiledGraph(graph, {collectives, load, fused}, form.symbols, axes, boundary);
    };
    for (std::size_t k = 0; k < graphs.layers.size(); ++k) {
      form.layers.push_back(compiled(graphs.layers[k], experts[k] ? &*experts[k] : nullptr));
    }
    form.embedding.emplace(compiled(graphs.embedding, nullptr));
    form.head.emplace(compiled(graphs.head, nullptr));
    form.boundary.emplace(compiled(graphs.boundary, nullptr));
    if (graphs.draft) {
      form.draft_entry.emplace(compiled(graphs.draft->entry, nullptr));
      for (std::size_t k = 0; k < graphs.draft->layers.size(); ++k) {
        const auto& load = draft_experts[graphs.draft->kinds[k]];
        form.draft_layers.push_back(compiled(graphs.draft->layers[k], load ? &*load : nullptr));
      }
      form.draft_head.emplace(compiled(graphs.draft->head, nullptr));
    }
    forms.push_back(std::move(form));
  }

  // Calls visit(form, part of the shape that it serves) for every form with tokens.
  template <class Visit>
  void for_each_form(const BatchShape& shape, Visit visit) const {
    ensure(shape.decode_sequences == 0 || shape.decode_tokens == 1 + drafts, "a step verifies the tokens that were drafted for it");
    if (mixes) {
      visit(forms.front(), shape);
      return;
    }
    if (shape.decode_sequences > 0) visit(forms.front(), only(shape, Phase::kDecode));
    if (shape.prefill_sequences > 0) visit(forms.back(), only(shape, Phase::kPrefill));
  }

  [[nodiscard]] Values values_of(const CompiledForm& form, const BatchShape& shape) const {
    Values values;
    form.symbols.evaluate_all(shape, values.busiest, values.mean);
    const auto prompt = static_cast<double>(shape.prefill_sequences * shape.prefill_tokens);
    const auto tokens = static_cast<double>(shape.tokens());
    values.busiest.decode_tokens = values.mean.decode_tokens = static_cast<double>(shape.decode_tokens);
    values.busiest.factors = factors_at(factors, tokens > 0 ? prompt / tokens : 0);
    values.mean.factors = values.busiest.factors;
    values.busiest.captured = values.mean.captured = shape.prefill_sequences == 0;
    return values;
  }

  // Calls visit(graph, times, values) for the graphs that draft, all over a step of `shape`; `values` are those of the shape.
  template <class Visit>
  void for_each_draft(const CompiledForm& form, const BatchShape& shape, const Values& values, Visit visit) const {
    if (!form.draft_entry) return;
    const auto& modules = form.graphs->draft->modules;
    const auto used = static_cast<std::int64_t>(modules.size());
    const auto run = [&](const Values& at, std::int64_t first, std::int64_t end) {
      std::vector<std::int64_t> times(form.draft_layers.size(), 0);
      for (std::int64_t pass = first; pass < end; ++pass) {
        for (const std::size_t layer : modules[static_cast<std::size_t>(pass % used)]) ++times[layer];
      }
      visit(*form.draft_entry, end - first, at);
      for (std::size_t k = 0; k < times.size(); ++k) {
        if (times[k] > 0) visit(form.draft_layers[k], times[k], at);
      }
      visit(*form.draft_head, end - first, at);
    };
    run(values, 0, used);
    if (drafts > used && shape.decode_sequences > 0) run(values_of(form, drafted_again(shape)), used, drafts);
  }

  [[nodiscard]] StepTime draft_time(const CompiledForm& form, const BatchShape& shape, const Values& values) const {
    StepTime total;
    for_each_draft(form, shape, values, [&](const CompiledGraph& graph, std::int64_t times, const Values& at) {
      total += graph.time(at.busiest, at.mean) * static_cast<double>(times);
    });
    return total;
  }

  [[nodiscard]] StepTime stage_time(const CompiledForm& form, const StageLayers& stage, const BatchShape& shape, const Values& values) const {
    StepTime total;
    if (stage.is_first) total += form.embedding->time(values.busiest, values.mean);
    for (std::size_t k = 0; k < form.layers.size(); ++k) {
      if (stage.of_kind[k] > 0) total += form.layers[k].time(values.busiest, values.mean) * static_cast<double>(stage.of_kind[k]);
    }
    if (!stage.is_last) return total;
    total += form.head->time(values.busiest, values.mean);
    total += draft_time(form, shape, values);
    return total;
  }
};

const char* name_of(DeviceOrder order) {
  switch (order) {
    case DeviceOrder::kStageMajor: return "stage_major";
    case DeviceOrder::kStageMinor: return "stage_minor";
    case DeviceOrder::kGroupMajor: return "group_major";
  }
  return "?";
}

std::int64_t stage_stride(const ParallelConfig& config, DeviceOrder order) {
  switch (order) {
    case DeviceOrder::kStageMajor: return config.stage_ranks();
    case DeviceOrder::kStageMinor: return 1;
    case DeviceOrder::kGroupMajor: return config.pcp * config.tp;
  }
  return 1;
}

std::vector<GroupShape::Axis> device_axes(const Mesh& mesh, const ParallelConfig& config, DeviceOrder order) {
  const std::int64_t inside = stage_stride(config, order);   // ranks below this stride stay neighbours
  std::vector<GroupShape::Axis> axes;
  std::int64_t stride = mesh.ranks();
  for (const std::int64_t size : mesh.sizes()) {
    stride /= size;
    axes.push_back({size, stride >= inside ? stride * config.pp : stride});
  }
  return axes;
}

StepPricer::StepPricer(const ModelSpec& model, const ParallelConfig& config, const LoweredModel& lowered,
                       const CollectivePricer& collectives, const PriceOptions& options, DeviceOrder order)
    : impl_(std::make_unique<Impl>()) {
  const auto loads = [&](const std::vector<LayerKind>& kinds, std::vector<std::optional<ExpertLoadModel>>& out) {
    for (const LayerKind& kind : kinds) {
      out.emplace_back();
      if (kind.ffn.kind != FfnKind::kMoe) continue;
      out.back().emplace(options.expert_load, kind.ffn.experts, kind.ffn.experts_per_token, config.ep, config.variant.redundant_experts,
                         config.variant.capacity_factor_ratio);
    }
  };
  loads(model.kinds, impl_->experts);
  impl_->expert_copies = config.moe_dp;
  impl_->drafts = lowered.drafts;
  if (lowered.drafts > 0) loads(model.mtp_layers, impl_->draft_experts);
  impl_->mixes = lowered.mixes();
  if (collectives.mode() != PriceMode::kSpeedOfLight) {
    impl_->factors = options.factors;
    impl_->fused = options.fused_all_reduce;
  }
  const std::vector<GroupShape::Axis> axes = device_axes(lowered.forms.front().embedding.mesh, config, order);
  GroupShape boundary{{{2, stage_stride(config, order)}}, axes};
  if (config.pp == 1) boundary = {};
  for (const StageGraphs& graphs : lowered.forms) impl_->compile(graphs, collectives, axes, boundary);
}

StepPricer::~StepPricer() = default;
StepPricer::StepPricer(StepPricer&&) noexcept = default;

StepTime StepPricer::stage(const StageLayers& stage, const BatchShape& shape) const {
  StepTime total;
  impl_->for_each_form(shape, [&](const CompiledForm& form, const BatchShape& part) {
    total += impl_->stage_time(form, stage, part, impl_->values_of(form, part));
  });
  return total;
}

Seconds StepPricer::hop(const BatchShape& shape) const {
  StepTime total;
  impl_->for_each_form(shape, [&](const CompiledForm& form, const BatchShape& part) {
    const Values values = impl_->values_of(form, part);
    total += form.boundary->time(values.busiest, values.mean);
  });
  return total.seconds;
}

StepTime StepPricer::step(const std::vector<StageLayers>& stages, const BatchShape& shape) const {
  StepTime total;
  impl_->for_each_form(shape, [&](const CompiledForm& form, const BatchShape& part) {
    const Values values = impl_->values_of(form, part);
    for (const StageLayers& stage : stages) total += impl_->stage_time(form, stage, part, values);
    if (stages.size() > 1) total += form.boundary->time(values.busiest, values.mean) * static_cast<double>(stages.size() - 1);
  });
  return total;
}

StepBreakdown StepPricer::breakdown(const std::vector<StageLayers>& stages, const BatchShape& shape) const {
  StepBreakdown out;
  out.time = step(stages, shape);
  for (const StageLayers& stage : stages) out.stages.push_back(this->stage(stage, shape));
  out.drops = drops(shape);
  impl_->for_each_form(shape, [&](const CompiledForm& form, const BatchShape& part) {
    const Values values = impl_->values_of(form, part);
    form.embedding->describe(values.busiest, values.mean, 1, out);
    for (std::size_t k = 0; k < form.layers.size(); ++k) {
      std::int64_t count = 0;
      for (const StageLayers& stage : stages) count += stage.of_kind[k];
      form.layers[k].describe(values.busiest, values.mean, count, out);
    }
    form.head->describe(values.busiest, values.mean, 1, out);
    impl_->for_each_draft(form, part, values, [&out](const CompiledGraph& graph, std::int64_t times, const Values& at) {
      graph.describe(at.busiest, at.mean, times, out, "draft_");
    });
    if (stages.size() > 1) form.boundary->describe(values.busiest, values.mean, static_cast<std::int64_t>(stages.size()) - 1, out);
  });
  return out;
}

Seconds StepPricer::layer(int kind, const BatchShape& shape) const {
  StepTime total;
  impl_->for_each_form(shape, [&](const CompiledForm& form, const BatchShape& part) {
    const Values values = impl_->values_of(form, part);
    total += form.layers[static_cast<std::size_t>(kind)].time(values.busiest, values.mean);
  });
  return total.seconds;
}

Seconds StepPricer::ends(bool first, const BatchShape& shape) const {
  StepTime total;
  impl_->for_each_form(shape, [&](const CompiledForm& form, const BatchShape& part) {
    const Values values = impl_->values_of(form, part);
    total += (first ? form.embedding : form.head)->time(values.busiest, values.mean);
  });
  return total.seconds;
}

std::optional<ExpertDrops> StepPricer::drops(const BatchShape& shape) const {
  for (const auto& load : impl_->experts) {
    if (load) return load->drops(ceil_div(shape.tokens(), impl_->expert_copies));
  }
  return std::nullopt;
}

StepTime StepPricer::drafts(const BatchShape& shape) const {
  StepTime total;
  impl_->for_each_form(shape, [&](const CompiledForm& form, const BatchShape& part) {
    total += impl_->draft_time(form, part, impl_->values_of(form, part));
  });
  return total;
}

std::int64_t StepPricer::draft_layers(const BatchShape& shape) const {
  const auto& draft = impl_->forms.front().graphs->draft;
  if (!draft) return 0;
  const auto used = static_cast<std::int64_t>(draft->modules.size());
  std::int64_t layers = 0;
  for (std::int64_t pass = 0; pass < (shape.decode_sequences > 0 ? impl_->drafts : used); ++pass) {
    layers += static_cast<std::int64_t>(draft->modules[static_cast<std::size_t>(pass % used)].size());
  }
  return layers;
}

}  // namespace shardplan
