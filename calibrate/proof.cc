#include "calibrate/proof.h"

#include <algorithm>

#include "base/errors.h"
#include "calibrate/layouts.h"
#include "costmodel/lower.h"
#include "costmodel/lowering/registry.h"
#include "costmodel/stages.h"

namespace shardplan {
namespace {

constexpr std::uint64_t kDitheredRuns = 3;
constexpr double kDitherMargin = 2;
constexpr double kOneRounding = 1.0 / 256;   // bf16: from one number to the next

ExecutorOptions sharded_options(const ProofOptions& options, std::shared_ptr<const ChoiceLog> follow, std::shared_ptr<const TokenBook> tokens) {
  ExecutorOptions result{.seed = options.seed, .invent_prefix = options.invent_prefix, .storage = options.storage, .kernels = options.kernels, .crowd_experts = options.crowd_experts};
  result.follow = std::move(follow);
  result.tokens = std::move(tokens);
  result.communicator = {.timeout = options.timeout, .tamper = options.tamper, .transport = options.transport};
  return result;
}

ExecutorOptions whole_options(const ProofOptions& options, std::shared_ptr<ChoiceLog> record, std::shared_ptr<const TokenBook> tokens,
                              std::shared_ptr<const TokenGroups> sharing) {
  ExecutorOptions result{.seed = options.seed, .invent_prefix = options.invent_prefix, .storage = options.storage, .crowd_experts = options.crowd_experts};
  result.record = std::move(record);
  result.tokens = std::move(tokens);
  result.sharing = std::move(sharing);
  return result;
}

// Layers of each stage: as given, or even with the extra ones first.
std::vector<std::int64_t> layer_split(const ModelSpec& model, const ParallelConfig& config) {
  return config.pp_layers.empty() ? even_layer_split(model.layer_count(), config.pp) : config.pp_layers;
}

// Which tokens share experts: those of the ranks that hold all picks of one group. All graphs of a step have the same.
void add_sharing(const StepGraph& graph, const RaggedBatch& batch, TokenGroups& sharing) {
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::kCompute || graph.op_of(node).kind != OpKind::kAdmit) continue;
    for (int rank = 0; rank < graph.mesh.ranks(); ++rank) {
      const LocalDims dims = local_dims(graph, batch, node.inputs[0], rank);
      for (const std::int64_t token : dims.front().ids) sharing.try_emplace(token, rank);
    }
  }
}

// Graph by graph; without allowances the fixed tolerance.
ProofResult hold_together(const RunResult& run, const RunResult& reference, const RaggedBatch& batch, const std::vector<Allowance>& allowances) {
  ensure(run.graphs.size() == reference.graphs.size(), "both programs have the same graphs");
  ProofResult result;
  for (std::size_t i = 0; i < run.graphs.size(); ++i) {
    const bool boundary = i + 1 < run.graphs.size() && run.graphs[i + 1].stage != run.graphs[i].stage;
    result.values.absorb(compare(run.graphs[i], reference.graphs[i], allowances.empty() ? Allowance{kProofTolerance} : allowances[i]));
    result.bytes.absorb(check_bytes({run, static_cast<int>(i), reference.graphs[i], batch, boundary}));
  }
  for (const Traffic& traffic : run.traffic) {
    for (const auto& [at, sent] : traffic) result.moved_bytes += sent.bytes;
  }
  return result;
}

// What the head's ranks sampled, and behind it what each module drafted.
void keep_tokens(const RunResult& run, TokenBook& book) {
  std::int64_t ahead = 0;
  for (const GraphResult& graph : run.graphs) {
    bool samples = false;
    for (const Node& node : graph.graph->nodes) {
      if (node.kind != NodeKind::kCompute || graph.graph->op_of(node).kind != OpKind::kSample) continue;
      if (!samples) ++ahead;
      samples = true;
      for (const auto& values : graph.values) book.take(values[static_cast<std::size_t>(node.outputs[0])], ahead);
    }
  }
}

// Each MTP module once, one behind the other: what the first passes of a step run. Their caches and weights are layers behind
// the model's; the tables are numbers of their own, which a proof does not mind. Ids of this step stand for those of the next.
template <class Keep>
void add_drafts(const ModelSpec& model, const ParallelConfig& config, StepForm form, const GraphFormats& formats, Keep keep, std::vector<StageGraph>& graphs) {
  const std::int64_t used = std::min(config.variant.speculative_tokens, model.mtp_modules);
  if (used == 0) return;
  const Strategy strategy = build_strategy(model, config, form);
  const StepGraph* entry = keep(lower(draft_entry_graph(model, form, formats), strategy, form));
  const StepGraph* head = keep(lower(head_graph(model, form, formats, Phase::kLast), strategy, form));
  const std::int64_t each = std::ssize(model.mtp_layers) / model.mtp_modules;
  for (std::int64_t module = 0; module < used; ++module) {
    const std::int64_t ends = model.layer_count() + std::ssize(model.mtp_layers) + module;
    graphs.push_back({entry, ends});
    for (std::int64_t i = module * each; i < (module + 1) * each; ++i) {
      graphs.push_back({keep(lower(layer_graph(model, model.mtp_layers[static_cast<std::size_t>(i)], form, formats), strategy, form)), model.layer_count() + i});
    }
    graphs.push_back({head, ends});
  }
}

// The unsharded run with roundings otherwise than to the nearest, which follows the choices of the one that rounds so.
std::vector<std::unique_ptr<Executor>> dithered_runs(const ProofOptions& options, const std::shared_ptr<ChoiceLog>& choices, const std::shared_ptr<TokenBook>& tokens,
                                                     const std::shared_ptr<TokenGroups>& sharing) {
  std::vector<std::unique_ptr<Executor>> runs;
  if (options.storage == Storage::kFp32 && !options.measured_tolerance) return runs;
  for (std::uint64_t seed = 1; seed <= kDitheredRuns; ++seed) {
    ExecutorOptions dithered = whole_options(options, nullptr, tokens, sharing);
    dithered.follow = choices;
    dithered.widen = choices;
    dithered.dither = seed;
    runs.push_back(std::make_unique<Executor>(1, 1, dithered));
  }
  return runs;
}

// By graph; none without dithered runs. Before the sharded run, which allows choices what following cost here.
std::vector<Allowance> allowances(const std::vector<std::unique_ptr<Executor>>& dithered, Storage storage, const Program& program, const RaggedBatch& batch,
                                  const RunResult& reference) {
  if (dithered.empty()) return {};
  std::vector<Allowance> result(reference.graphs.size(), {storage == Storage::kBf16 ? kOneRounding : kProofTolerance});
  for (const auto& executor : dithered) {
    const RunResult run = executor->run(program, batch);
    for (std::size_t i = 0; i < result.size(); ++i) {
      for (const auto& [tensor, error] : tensor_errors(run.graphs[i], reference.graphs[i])) {
        double& allowed = result[i].of_tensor[tensor];
        allowed = std::max(allowed, kDitherMargin * error + result[i].least);
      }
    }
  }
  return result;
}

}  // namespace

bool has_recurrent(const ModelSpec& model) {
  return std::any_of(model.kinds.begin(), model.kinds.end(), [](const LayerKind& kind) { return kind.attention.kind == AttentionKind::kRecurrent; });
}

LoweredProgram lower_program(const ModelSpec& model, const ParallelConfig& config, StepForm form, std::optional<int> kind) {
  LoweredProgram result;
  const auto keep = [&](StepGraph graph) {
    result.graphs.push_back(std::make_unique<StepGraph>(std::move(graph)));
    return result.graphs.back().get();
  };
  const NumberFormat* bf16 = find_format("bf16");
  const GraphFormats formats{bf16, model.kv_format != nullptr ? model.kv_format : bf16, nullptr};
  const Strategy strategy = build_strategy(model, config, form);
  std::vector<const StepGraph*> layers;
  for (const LayerKind& layer : model.kinds) layers.push_back(keep(lower(layer_graph(model, layer, form, formats), strategy, form)));
  if (kind) {
    result.program.stages = {{{layers[static_cast<std::size_t>(*kind)], 0}}};
    return result;
  }
  const auto split = layer_split(model, config);
  std::int64_t layer = 0;
  for (std::size_t stage = 0; stage < split.size(); ++stage) {
    auto& graphs = result.program.stages.emplace_back();
    if (stage == 0) graphs.push_back({keep(lower(embedding_graph(model, form, formats), strategy, form)), 0});
    if (stage > 0 && model.kinds[static_cast<std::size_t>(model.layers[static_cast<std::size_t>(layer)])].attention.index.shared)
      throw LoweringRefusal("shared_index_over_stages", "a stage begins with a layer that takes the choice of the one before it");
    for (std::int64_t i = 0; i < split[stage]; ++i, ++layer) {
      graphs.push_back({layers[static_cast<std::size_t>(model.layers[static_cast<std::size_t>(layer)])], layer});
    }
    if (stage + 1 < split.size()) continue;
    graphs.push_back({keep(lower(head_graph(model, form, formats), strategy, form)), 0});
    add_drafts(model, config, form, formats, keep, graphs);
  }
  return result;
}

void ProofResult::absorb(const ProofResult& other) {
  values.absorb(other.values);
  bytes.absorb(other.bytes);
  moved_bytes += other.moved_bytes;
}

Proof::Proof(const ModelSpec& model, const ParallelConfig& config, const ProofOptions& options)
    : model_(model), config_(config), options_(options), choices_(std::make_shared<ChoiceLog>()),
      sharing_(config.variant.capacity_factor_ratio > 0 ? std::make_shared<TokenGroups>() : nullptr),
      sharded_tokens_(std::make_shared<TokenBook>()), whole_tokens_(std::make_shared<TokenBook>()),
      sharded_(options.kind ? 1 : static_cast<int>(config.pp), static_cast<int>(config.stage_ranks()),
               sharded_options(options, choices_, sharded_tokens_)),
      whole_(1, 1, whole_options(options, choices_, whole_tokens_, sharing_)) {
  dithered_ = dithered_runs(options, choices_, whole_tokens_, sharing_);
}

ProofResult Proof::step(StepForm form, const RaggedBatch& batch) {
  const LoweredProgram many = lower_program(model_, config_, form, options_.kind);
  ParallelConfig alone;   // one rank, as many tokens ahead
  alone.variant.speculative_tokens = config_.variant.speculative_tokens;
  alone.variant.capacity_factor_ratio = config_.variant.capacity_factor_ratio;
  if (sharing_ != nullptr) {
    sharing_->clear();
    for (const auto& graph : many.graphs) add_sharing(*graph, batch, *sharing_);
  }
  const LoweredProgram one = lower_program(model_, alone, form, options_.kind);
  const RunResult reference = whole_.run(one.program, batch);
  const std::vector<Allowance> allowed = allowances(dithered_, options_.storage, one.program, batch, reference);
  const RunResult run = sharded_.run(many.program, batch);
  const ProofResult result = hold_together(run, reference, batch, allowed);
  keep_tokens(reference, *whole_tokens_);
  keep_tokens(run, *sharded_tokens_);
  return result;
}

ProofResult prove(const GraphPair& graphs, const RaggedBatch& batch, const ProofOptions& options) {
  const auto choices = std::make_shared<ChoiceLog>();
  const auto sharing = std::make_shared<TokenGroups>();
  add_sharing(graphs.sharded, batch, *sharing);
  Executor one(1, 1, whole_options(options, choices, nullptr, sharing));
  Executor many(1, static_cast<int>(graphs.sharded.mesh.ranks()), sharded_options(options, choices, nullptr));
  const Program whole{{{{&graphs.whole, 0}}}};
  const RunResult reference = one.run(whole, batch);
  const std::vector<Allowance> allowed = allowances(dithered_runs(options, choices, nullptr, sharing), options.storage, whole, batch, reference);
  const RunResult run = many.run({{{{&graphs.sharded, 0}}}}, batch);
  return hold_together(run, reference, batch, allowed);
}

ProofResult prove(const ProofCase& proof_case, std::uint64_t seed) {
  Proof proof(proof_case.model, proof_case.config, {.seed = seed, .kind = proof_case.kind, .measured_tolerance = has_recurrent(proof_case.model)});
  return proof.step(proof_case.form, proof_case.batch);
}

}  // namespace shardplan
