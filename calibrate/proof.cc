#include "calibrate/proof.h"

#include "base/errors.h"
#include "costmodel/lower.h"
#include "costmodel/lowering/registry.h"

namespace shardplan {
namespace {

ExecutorOptions executor_options(const ProofOptions& options, Tamper* tamper) {
  ExecutorOptions result{.seed = options.seed, .invent_prefix = options.invent_prefix};
  result.communicator.tamper = tamper;
  return result;
}

// Layers of each stage: as given, or even with the extra ones first.
std::vector<std::int64_t> stage_layers(const ModelSpec& model, const ParallelConfig& config) {
  if (!config.pp_layers.empty()) return config.pp_layers;
  std::vector<std::int64_t> layers;
  for (std::int64_t stage = 0; stage < config.pp; ++stage) {
    layers.push_back(model.layer_count() / config.pp + (stage < model.layer_count() % config.pp ? 1 : 0));
  }
  return layers;
}

// Graph by graph.
ProofResult hold_together(const RunResult& run, const RunResult& reference, const RaggedBatch& batch) {
  ensure(run.graphs.size() == reference.graphs.size(), "both programs have the same graphs");
  ProofResult result;
  for (std::size_t i = 0; i < run.graphs.size(); ++i) {
    const bool boundary = i + 1 < run.graphs.size() && run.graphs[i + 1].stage != run.graphs[i].stage;
    result.values.absorb(compare(run.graphs[i], reference.graphs[i]));
    result.bytes.absorb(check_bytes({run, static_cast<int>(i), reference.graphs[i], batch, boundary}));
  }
  return result;
}

}  // namespace

// Graphs of a configuration, and the program that runs them.
struct Proof::Lowered {
  std::vector<std::unique_ptr<StepGraph>> graphs;
  Program program;

  const StepGraph* keep(StepGraph graph) {
    graphs.push_back(std::make_unique<StepGraph>(std::move(graph)));
    return graphs.back().get();
  }
};

void ProofResult::absorb(const ProofResult& other) {
  values.absorb(other.values);
  bytes.absorb(other.bytes);
}

Proof::Proof(const ModelSpec& model, const ParallelConfig& config, ProofOptions options)
    : model_(model), config_(config), options_(options),
      sharded_(options.kind ? 1 : static_cast<int>(config.pp), static_cast<int>(config.stage_ranks()),
               executor_options(options, options.tamper)),
      whole_(1, 1, executor_options(options, nullptr)) {}

Proof::Lowered Proof::lowered(const ParallelConfig& config, StepForm form) const {
  Lowered result;
  const NumberFormat* bf16 = find_format("bf16");
  const GraphFormats formats{bf16, model_.kv_format != nullptr ? model_.kv_format : bf16, nullptr};
  const Strategy strategy = build_strategy(model_, config, form);
  std::vector<const StepGraph*> layers;
  for (const LayerKind& kind : model_.kinds) layers.push_back(result.keep(lower(layer_graph(model_, kind, form, formats), strategy, form)));
  if (options_.kind) {
    result.program.stages = {{{layers[static_cast<std::size_t>(*options_.kind)], 0}}};
    return result;
  }
  const auto split = stage_layers(model_, config);
  std::int64_t layer = 0;
  for (std::size_t stage = 0; stage < split.size(); ++stage) {
    auto& graphs = result.program.stages.emplace_back();
    if (stage == 0) graphs.push_back({result.keep(lower(embedding_graph(model_, form, formats), strategy, form)), 0});
    for (std::int64_t i = 0; i < split[stage]; ++i, ++layer) {
      graphs.push_back({layers[static_cast<std::size_t>(model_.layers[static_cast<std::size_t>(layer)])], layer});
    }
    if (stage + 1 == split.size()) graphs.push_back({result.keep(lower(head_graph(model_, form, formats), strategy, form)), 0});
  }
  return result;
}

ProofResult Proof::step(StepForm form, const RaggedBatch& batch) {
  const Lowered many = lowered(config_, form);
  const Lowered one = lowered(ParallelConfig{}, form);
  const RunResult run = sharded_.run(many.program, batch);
  const RunResult reference = whole_.run(one.program, batch);
  return hold_together(run, reference, batch);
}

ProofResult prove(const GraphPair& graphs, const RaggedBatch& batch, const ProofOptions& options) {
  Executor many(1, static_cast<int>(graphs.sharded.mesh.ranks()), executor_options(options, options.tamper));
  Executor one(1, 1, executor_options(options, nullptr));
  const RunResult run = many.run({{{{&graphs.sharded, 0}}}}, batch);
  return hold_together(run, one.run({{{{&graphs.whole, 0}}}}, batch), batch);
}

ProofResult prove(const ProofCase& proof_case, std::uint64_t seed) {
  Proof proof(proof_case.model, proof_case.config, {.seed = seed, .kind = proof_case.kind});
  return proof.step(proof_case.form, proof_case.batch);
}

}  // namespace shardplan
