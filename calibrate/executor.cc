#include "calibrate/executor.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/errors.h"
#include "calibrate/core_wait.h"
#include "calibrate/graph_plan.h"
#include "calibrate/rank_runner.h"
#include "calibrate/run_exchange.h"
#include "costmodel/traffic.h"

namespace shardplan {

// Plans of a program's graphs for one batch, stages in order.
struct Executor::Prepared {
  std::vector<std::unique_ptr<GraphPlan>> plans;
  std::vector<std::int64_t> layers;   // of each plan
  std::vector<int> first_plan;        // of each stage, and one behind the last

  // Runs one rank's stage: calls done(plan index, values) after each graph.
  template <class Done>
  void walk(RankRunner& runner, int stage, Done done) const {
    const auto s = static_cast<std::size_t>(stage);
    for (int i = first_plan[s]; i < first_plan[s + 1]; ++i) {
      const auto at = static_cast<std::size_t>(i);
      done(at, runner.run(*plans[at], layers[at], i));
    }
    if (s + 2 < first_plan.size()) runner.pass_on();
  }
};

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Weights of every graph of a stage as they lie on a rank, and the rows of its caches. A vocabulary's table is held once,
// however many graphs of the stage read it.
HeldBytes stored_bytes(const std::vector<const GraphPlan*>& plans, int rank, const CacheStore& cache) {
  HeldBytes held;
  std::map<std::string, double> cache_bytes;   // per element
  std::set<std::string> tables;
  for (const GraphPlan* plan : plans) {
    for (std::size_t v = 0; v < plan->graph.values.size(); ++v) {
      const auto id = static_cast<ValueId>(v);
      const Tensor& tensor = plan->graph.tensor_of(id);
      const double elements = static_cast<double>(element_count(plan->layouts.at(id, rank)));
      const bool table = tensor.part == Part::kEmbedding || tensor.part == Part::kHead;
      const bool counts = tensor.lifetime == Lifetime::kWeight && (!table || tables.insert(tensor.name).second);
      if (counts) held.weights += elements * tensor.format->bytes_per_element();
      if (tensor.lifetime == Lifetime::kCache) cache_bytes[tensor.name] = tensor.format->bytes_per_element();
    }
  }
  for (const auto& [name, elements] : cache.elements()) held.cache += static_cast<double>(elements) * cache_bytes[name.tensor];
  return held;
}

}  // namespace

Executor::Executor(int stages, int ranks_per_stage, ExecutorOptions options)
    : stages_(stages), ranks_(ranks_per_stage), options_(std::move(options)), source_(options_.seed),
      caches_(static_cast<std::size_t>(stages * ranks_per_stage)), weights_(caches_.size()) {
  if (options_.kernels == nullptr) options_.kernels = &host_kernels();
  for (std::size_t rank = 0; options_.dither != 0 && rank < caches_.size(); ++rank) dithers_.emplace_back(options_.dither + rank);
}

Executor::Prepared Executor::prepare(const Program& program, const RaggedBatch& batch) const {
  ensure(static_cast<int>(program.stages.size()) == stages_, "a program has the executor's stages");
  Prepared prepared;
  for (const auto& stage : program.stages) {
    prepared.first_plan.push_back(static_cast<int>(prepared.plans.size()));
    for (const StageGraph& g : stage) {
      ensure(g.graph->mesh.ranks() == ranks_, "a graph's mesh has the executor's ranks");
      prepared.plans.push_back(std::make_unique<GraphPlan>(*g.graph, batch));
      prepared.layers.push_back(g.layer);
    }
  }
  prepared.first_plan.push_back(static_cast<int>(prepared.plans.size()));
  return prepared;
}

RankContext Executor::context_of(int rank) {
  const auto at = static_cast<std::size_t>(rank);
  return {.source = source_, .kernels = *options_.kernels, .cache = caches_[at], .weights = weights_[at], .storage = options_.storage,
          .record = options_.record.get(), .follow = options_.follow.get(), .widen = options_.widen.get(), .tokens = options_.tokens.get(), .dither = dithers_.empty() ? nullptr : &dithers_[at], .crowd_experts = options_.crowd_experts, .sharing = options_.sharing.get(), .tamper = options_.communicator.tamper};
}

RunResult Executor::run(const Program& program, const RaggedBatch& batch) {
  const Prepared prepared = prepare(program, batch);
  RunResult result;
  for (int stage = 0; stage < stages_; ++stage) {
    for (int i = prepared.first_plan[static_cast<std::size_t>(stage)]; i < prepared.first_plan[static_cast<std::size_t>(stage) + 1]; ++i) {
      result.graphs.push_back({&prepared.plans[static_cast<std::size_t>(i)]->graph, stage, std::vector<std::vector<LocalArray>>(static_cast<std::size_t>(ranks_))});
    }
  }
  Communicator communicator(stages_ * ranks_, options_.communicator);
  result.traffic = communicator.run([&](Endpoint& endpoint) {
    const RankContext context = context_of(endpoint.rank());
    RankRunner runner(endpoint, context, {.ranks = ranks_, .invent_prefix = options_.invent_prefix});
    prepared.walk(runner, endpoint.rank() / ranks_, [&](std::size_t plan, std::vector<LocalArray> values) {
      result.graphs[plan].values[static_cast<std::size_t>(endpoint.rank() % ranks_)] = std::move(values);
    });
  });
  exchange_values(communicator.transport(), options_.communicator.timeout, result);
  return result;
}

TimedRun Executor::run_timed(const Program& program, const RaggedBatch& batch, int repeats) {
  const Prepared prepared = prepare(program, batch);
  Communicator communicator(stages_ * ranks_, options_.communicator);
  std::vector<std::vector<Sample>> samples(caches_.size());
  std::vector<HeldBytes> held(caches_.size());
  communicator.run([&](Endpoint& endpoint) {
    const auto at = static_cast<std::size_t>(endpoint.rank());
    const int stage = endpoint.rank() / ranks_;
    const RankContext context = context_of(endpoint.rank());
    const CoreWait core;
    for (int i = 0; i < repeats; ++i) {
      RankRunner runner(endpoint, context, {.ranks = ranks_, .invent_prefix = options_.invent_prefix && i == 0, .drop_dead = true, .count_live = i == 0});
      const double waited = core.seconds();
      endpoint.barrier();
      const double gathered = core.seconds();
      const double worked = CoreWait::busy_seconds();
      const auto start = Clock::now();
      prepared.walk(runner, stage, [](std::size_t, const std::vector<LocalArray>&) {});
      const double seconds = seconds_since(start);
      const double busy = CoreWait::busy_seconds() - worked;
      const double done = core.seconds();
      samples[at].push_back({seconds, done - waited, done - gathered, busy});
      held[at].absorb(runner.held());
    }
    std::vector<const GraphPlan*> plans;
    for (int i = prepared.first_plan[static_cast<std::size_t>(stage)]; i < prepared.first_plan[static_cast<std::size_t>(stage) + 1]; ++i) {
      plans.push_back(prepared.plans[static_cast<std::size_t>(i)].get());
    }
    held[at].absorb(stored_bytes(plans, endpoint.rank() % ranks_, caches_[at]));
  });
  return slowest_of(communicator.transport(), options_.communicator.timeout, samples, held);
}

}  // namespace shardplan
