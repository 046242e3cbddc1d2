#include "calibrate/run/node_timer.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "calibrate/byte_stream.h"
#include "calibrate/core_wait.h"
#include "calibrate/graph_plan.h"
#include "calibrate/kernels/moe.h"
#include "calibrate/kernels/sampler.h"
#include "calibrate/nodes/node_table.h"
#include "calibrate/nodes/rank_state.h"
#include "calibrate/run/host_device.h"
#include "calibrate/token_id.h"
#include "costmodel/traffic.h"

namespace shardplan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMostCopyBytes = 256e6;
constexpr std::int64_t kMostCopies = 64;
constexpr int kExchanges = 16;   // one behind the other in a sample: ranks leave a barrier further apart than a small message takes

// Place of a token among the batch's.
std::int64_t place_in(const RaggedBatch& batch, std::int64_t id) {
  std::int64_t before = 0;
  for (const RequestSlice& slice : batch.requests) {
    if (slice.request == request_of(id)) return before + position_of(id) - slice.prefix;
    before += slice.new_tokens;
  }
  throw InternalError("a token of no request of the batch");
}

// The experts that the case's tokens go to.
void fill_routing(const NodeCase& c, LocalArray& array) {
  ensure(c.routing != nullptr && c.routing->per_token == array.columns(), "routing of other experts");
  const auto& tokens = array.ids(Dim::kTokens);
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    const std::int64_t from = place_in(c.batch, tokens[t]) % c.routing->tokens() * c.routing->per_token;
    for (std::int64_t j = 0; j < c.routing->per_token; ++j) {
      float* entry = array.values.data() + (static_cast<std::int64_t>(t) * c.routing->per_token + j) * kRoutingWidth;
      entry[0] = static_cast<float>(c.routing->picks[static_cast<std::size_t>(from + j)]);
      entry[1] = 1.0F / static_cast<float>(c.routing->per_token);
    }
  }
}

// One rank's node with its operands.
class NodeBench {
 public:
  NodeBench(const GraphPlan& plan, const NodeCase& c, const RankContext& context, Endpoint& endpoint, std::int64_t copies)
      : case_(c), node_(plan.graph.nodes[c.node]), copies_(copies),
        state_{.plan = plan, .context = context, .endpoint = endpoint, .rank = endpoint.rank(), .invent_prefix = true, .values = {}} {
    state_.values.resize(plan.graph.values.size());
    endpoint.begin({0, static_cast<int>(c.node), node_.kind == NodeKind::kCompute ? plan.graph.op_of(node_).name : node_kind_name(node_.kind)});
    for (const ValueId id : node_.inputs) fill(id);
  }

  void run() {
    state_.layer = turn_++ % copies_;
    for (const ValueId id : caches_) state_.values[static_cast<std::size_t>(id)].values.clear();
    node_function(node_.kind)(state_, node_);
  }

  [[nodiscard]] bool exchanges() const { return communicates(node_.kind); }

  // After the first run: every copy is there, and a cache is complete, before anything is timed.
  void make_copies() {
    for (const ValueId id : node_.weights) {
      for (std::int64_t to = 1; to < copies_; ++to) {
        state_.context.weights.copy(state_.context.source, state_.graph().logical, state_.graph().value(id).tensor, 0, to);
      }
    }
    for (std::int64_t i = 1; i < copies_; ++i) run();
    state_.invent_prefix = false;
  }

  // Sum of all outputs of copy 0; NaN when one is not finite.
  double fingerprint() {
    turn_ = 0;
    run();
    double sum = 0;
    for (const ValueId id : node_.outputs) {
      for (const float x : state_.gathered(id).values) sum += static_cast<double>(x);
    }
    return sum;
  }

 private:
  void fill(ValueId id) {
    const Tensor& tensor = state_.graph().tensor_of(id);
    if (tensor.lifetime == Lifetime::kCache) return fill_cache(id, tensor);
    if (node_.kind == NodeKind::kCompute && state_.graph().op_of(node_).kind == OpKind::kEmbed) return;   // makes its own
    LocalArray array = state_.shaped(id);
    if (array.width == kRoutingWidth) {
      fill_routing(case_, array);
    } else {
      array.values = state_.context.source.cut(state_.graph().logical, state_.graph().value(id).tensor, 0, array.dims).values;
    }
    std::fill(array.lse.begin(), array.lse.end(), 0.0F);
    state_.set(id, std::move(array));
  }

  void fill_cache(ValueId id, const Tensor&) {
    LocalArray rows(state_.plan.layouts.at(id, state_.rank));
    rows.values = state_.context.source.cut(state_.graph().logical, state_.graph().value(id).tensor, 0, rows.dims).values;
    for (std::int64_t copy = 0; copy < copies_; ++copy) {
      state_.layer = copy;
      state_.context.cache.put(state_.cache_name(id), rows);
    }
    rows.values.clear();
    state_.values[static_cast<std::size_t>(id)] = std::move(rows);
    caches_.push_back(id);
  }

  const NodeCase& case_;
  const Node& node_;
  std::int64_t copies_;
  RankState state_;
  std::vector<ValueId> caches_;
  std::int64_t turn_ = 0;
};

// fp32 bytes that the node reads of weights and caches on one rank.
double rotating_bytes(const GraphPlan& plan, const Node& node) {
  double bytes = 0;
  for (const ValueId id : node.weights) bytes += 4.0 * static_cast<double>(plan.layouts.largest(id));
  for (const ValueId id : node.inputs) {
    if (plan.graph.tensor_of(id).lifetime == Lifetime::kCache) bytes += 4.0 * static_cast<double>(plan.layouts.largest(id));
  }
  return bytes;
}

std::int64_t copies_of(double bytes, double cache_bytes) {
  if (bytes <= 0) return 1;
  const double wanted = std::min(2 * cache_bytes, std::max(kMostCopyBytes, bytes)) / bytes;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(wanted)), 1, kMostCopies);
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// All ranks agree on when to stop: rank 0 hears how the others' samples went, decides and tells.
class Jury {
 public:
  Jury(Endpoint& endpoint, int ranks, const StoppingRule& rule) : endpoint_(endpoint), ranks_(ranks), rule_(rule) {}

  bool goes_on(const Sample& own) {
    if (endpoint_.rank() != 0) {
      endpoint_.send(0, {{own.is_quiet() ? 1.0F : 0.0F}}, 0, 0);
      return endpoint_.receive(0).values.front() > 0.5F;
    }
    bool quiet = own.is_quiet();
    for (int peer = 1; peer < ranks_; ++peer) quiet = endpoint_.receive(peer).values.front() > 0.5F && quiet;
    if (quiet) quiet_.push_back(own.seconds);
    const double elapsed = seconds_since(start_);
    const bool more = elapsed < kPatience * rule_.most_seconds && (quiet_.empty() || !rule_.is_enough(quiet_, elapsed));
    for (int peer = 1; peer < ranks_; ++peer) endpoint_.send(peer, {{more ? 1.0F : 0.0F}}, 0, 0);
    return more;
  }

 private:
  static constexpr double kPatience = 6;   // times the most that a quiet machine takes

  Endpoint& endpoint_;
  int ranks_;
  const StoppingRule& rule_;
  Clock::time_point start_ = Clock::now();
  std::vector<double> quiet_;
};

struct RankTiming {
  std::vector<Sample> samples;
  bool is_correct = true;
};

RankTiming measure(NodeBench& bench, Endpoint& endpoint, int ranks, const StoppingRule& rule) {
  RankTiming timing;
  const int repeats = bench.exchanges() ? kExchanges : 1;
  const double first = bench.fingerprint();
  bench.make_copies();
  const CoreWait core;
  Jury jury(endpoint, ranks, rule);
  do {
    const double waited = core.seconds();
    endpoint.barrier();
    const double gathered = core.seconds();
    const double worked = CoreWait::busy_seconds();
    const auto begin = Clock::now();
    for (int i = 0; i < repeats; ++i) bench.run();
    const double seconds = seconds_since(begin);
    const double busy = CoreWait::busy_seconds() - worked;
    const double done = core.seconds();
    timing.samples.push_back({seconds / repeats, (done - waited) / repeats, (done - gathered) / repeats, busy / repeats});
  } while (jury.goes_on(timing.samples.back()));
  const double last = bench.fingerprint();
  timing.is_correct = std::isfinite(first) && first == last;
  return timing;
}

}  // namespace

NodeTiming time_node(const NodeCase& c, const NodeTimerOptions& options) {
  const GraphPlan plan(*c.graph, c.batch);
  const auto ranks = static_cast<int>(c.graph->mesh.ranks());
  const TensorSource source(1);
  const Kernels& kernels = options.kernels != nullptr ? *options.kernels : host_kernels();
  const std::int64_t copies = copies_of(rotating_bytes(plan, c.graph->nodes[c.node]), options.cache_bytes);
  std::vector<CacheStore> caches(static_cast<std::size_t>(ranks));
  std::vector<WeightStore> weights(static_cast<std::size_t>(ranks));
  std::vector<RankTiming> timings(static_cast<std::size_t>(ranks));
  Communicator communicator(ranks, {.timeout = options.timeout, .transport = options.transport});
  communicator.run([&](Endpoint& endpoint) {
    const auto at = static_cast<std::size_t>(endpoint.rank());
    const RankContext context{.source = source, .kernels = kernels, .cache = caches[at], .weights = weights[at],
                              .sampler = c.op == kDrawnSampling ? &kMeasuredSampler : nullptr};
    NodeBench bench(plan, c, context, endpoint, copies);
    timings[at] = measure(bench, endpoint, ranks, options.rule);
  });
  ByteWriter out;
  for (const RankTiming& timing : timings) {
    out.numbers(timing.samples);
    out.number(timing.is_correct);
  }
  NodeTiming result;
  std::vector<Sample> slowest;
  for (const std::string& text : communicator.transport().share(out.take(), options.timeout)) {
    ByteReader in(text);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto samples = in.numbers<Sample>();
      result.is_correct = in.number<bool>() && result.is_correct;
      slowest.resize(std::max(slowest.size(), samples.size()));
      for (std::size_t i = 0; i < samples.size(); ++i) slowest[i].absorb(samples[i]);
    }
  }
  result.seconds = summary_of(slowest, options.rule);
  result.samples = result.seconds.used;
  result.clock_mhz = host_clock_mhz();
  return result;
}

}  // namespace shardplan
