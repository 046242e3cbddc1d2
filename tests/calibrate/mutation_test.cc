// Spoiled messages are noticed, or the spoiling changes nothing and the reason is known.
#include <algorithm>
#include <map>

#include "costmodel/lower.h"
#include "costmodel/lowering/registry.h"
#include "costmodel/traffic.h"
#include "calibrate/small_models.h"
#include "tests/calibrate/sweep.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

enum class Mutation { kDropLse, kHalve, kSwapReceived, kSwapDestinations };
constexpr Mutation kMutations[] = {Mutation::kDropLse, Mutation::kHalve, Mutation::kSwapReceived, Mutation::kSwapDestinations};
constexpr const char* kNames[] = {"drop LSE", "halve", "swap received", "swap destinations"};

// Spoils one node of a graph: all messages, or what passes between one rank and two of its peers.
class Spoiler : public Tamper {
 public:
  Spoiler(Mutation mutation, int node, const std::vector<int>& group) : mutation_(mutation), node_(node), group_(group) {}

  void on_send(const Operation& operation, Payload payload, int from, int to, std::vector<float>& values) override {
    if (operation.node != node_) return;
    if (from == group_[0] && group_.size() > 2 && to == group_[1]) first_.insert(first_.end(), values.begin(), values.end());
    if (from == group_[0] && group_.size() > 2 && to == group_[2]) second_.insert(second_.end(), values.begin(), values.end());
    if (mutation_ == Mutation::kDropLse && payload == Payload::kLse) std::fill(values.begin(), values.end(), 0.0F);
    if (mutation_ == Mutation::kHalve) std::fill(values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end(), 0.0F);
  }
  int destination(const Operation& operation, int from, int to) override {
    return operation.node == node_ && mutation_ == Mutation::kSwapDestinations && from == group_[0] ? swapped(to) : to;
  }
  int origin(const Operation& operation, int to, int from) override {
    return operation.node == node_ && mutation_ == Mutation::kSwapReceived && to == group_[0] ? swapped(from) : from;
  }

  // Whether the two peers are sent the same, so that exchanging it changes nothing.
  [[nodiscard]] bool same_messages() const { return first_ == second_; }

 private:
  [[nodiscard]] int swapped(int rank) const { return rank == group_[1] ? group_[2] : rank == group_[2] ? group_[1] : rank; }

  Mutation mutation_;
  int node_;
  std::vector<int> group_;
  std::vector<float> first_;    // what the first rank of the group sends to its two peers
  std::vector<float> second_;
};

// Where a swap cannot matter: who receives a gather's messages (all the same), who sends a reduction's (a sum, a merge, a
// union with indices, as candidates of an indexer are, has no order).
bool is_equivalent(Mutation mutation, const StepGraph& graph, const Node& node) {
  const NodeKind kind = node.kind;
  const bool gathers = kind == NodeKind::kAllGather || kind == NodeKind::kLseGather;
  const bool merges = graph.tensor_of(node.inputs[0]).format == &candidate_format() || kind == NodeKind::kReduceScatter || kind == NodeKind::kLseGather || kind == NodeKind::kLseExchange ||
                      kind == NodeKind::kDispatch || kind == NodeKind::kCombine;
  return (mutation == Mutation::kSwapDestinations && gathers) || (mutation == Mutation::kSwapReceived && merges);
}

bool applies(Mutation mutation, const StepGraph& graph, const Node& node) {
  if (!communicates(node.kind)) return false;
  const bool lse = !graph.value(node.inputs[0]).placement.lse.empty();
  if (mutation == Mutation::kDropLse) return lse;
  if (mutation == Mutation::kHalve) return true;
  return graph.mesh.size(node.group) > 2 && node.kind != NodeKind::kRingAttention;
}

struct Tally {
  int killed = 0;
  int equivalent = 0;
  int survived = 0;
};

bool is_noticed(const GraphPair& graphs, const RaggedBatch& batch, Tamper& tamper) {
  try {
    const ProofResult result = prove(graphs, batch, {.seed = 7, .kind = 0, .tamper = &tamper});
    return result.values.worst_error_ratio > kProofTolerance;
  } catch (const InternalError&) {
    return true;
  }
}

void mutate(const ModelSpec& model, const ParallelConfig& config, StepForm form, const RaggedBatch& batch, std::map<Mutation, Tally>& tallies) {
  const NumberFormat* bf16 = find_format("bf16");
  const GraphFormats formats{bf16, bf16, nullptr};
  const auto lowered = [&](const ParallelConfig& c) {
    return lower(layer_graph(model, model.kinds.back(), form, formats), build_strategy(model, c, form), form);
  };
  const StepGraph sharded = lowered(config);
  ParallelConfig alone;
  alone.variant.capacity_factor_ratio = config.variant.capacity_factor_ratio;
  const StepGraph whole = lowered(alone);
  for (std::size_t i = 0; i < sharded.nodes.size(); ++i) {
    for (const Mutation mutation : kMutations) {
      if (!applies(mutation, sharded, sharded.nodes[i])) continue;
      Spoiler spoiler(mutation, static_cast<int>(i), sharded.mesh.group_of(0, sharded.nodes[i].group));
      Tally& tally = tallies[mutation];
      const bool noticed = is_noticed({sharded, whole}, batch, spoiler);
      const bool equivalent = is_equivalent(mutation, sharded, sharded.nodes[i]) ||
                              (mutation == Mutation::kSwapDestinations && spoiler.same_messages());
      INFO(model.name << " " << short_text(config) << " " << form_name(form) << ": " << kNames[static_cast<int>(mutation)] << " in "
                      << node_kind_name(sharded.nodes[i].kind) << " of " << sharded.tensor_of(sharded.nodes[i].inputs[0]).name);
      CHECK(noticed != equivalent);
      ++(noticed ? tally.killed : equivalent ? tally.equivalent : tally.survived);
    }
  }
}

ModelSpec only_layer(const ModelSpec& model, std::size_t kind) {
  ModelSpec one = model;
  one.kinds = {model.kinds[kind]};
  one.layers = {0};
  return one;
}

TEST_CASE("spoiled messages are noticed unless the spoiling is equivalent") {
  std::map<Mutation, Tally> tallies;
  const RaggedBatch decode = decode_batch({17, 9, 12, 13, 20, 16, 11, 10});
  const RaggedBatch prefill = prefill_batch({{22, 11}, {17, 8}});   // an entry of four positions on each of four ranks
  const auto both = [&](const ModelSpec& model, const ParallelConfig& config) {
    mutate(model, config, StepForm::kDecode, decode, tallies);
    mutate(model, config, StepForm::kPrefill, prefill, tallies);
  };
  const Variant a2a{.dcp_comm = DcpComm::kA2a};
  const Variant helix{.helix = true};
  const Variant ring{.pcp_comm = PcpComm::kRing};
  const Variant ulysses{.pcp_comm = PcpComm::kAllToAll};
  const Variant dispatch{.moe_comm = MoeComm::kAllToAll};
  const Variant gather{.moe_comm = MoeComm::kAllGather};
  both(small_dense(), {.tp = 4});
  both(small_dense(), {.tp = 4, .dcp = 4});
  both(small_dense(), {.tp = 8, .dcp = 4, .variant = a2a});
  both(small_dense(), {.tp = 8, .dcp = 4, .variant = helix});
  both(small_dense(), {.dpa = 2, .tp = 4, .dcp = 2});
  both(small_dense(), {.pcp = 4, .variant = ring});
  both(small_dense(), {.pcp = 4, .dcp = 4});
  both(small_dense(), {.pcp = 4, .variant = ulysses});
  both(small_latent_plain(), {.tp = 4, .dcp = 4});
  both(only_layer(small_sparse(), 0), {.tp = 4, .dcp = 4});
  both(only_layer(small_sparse(), 2), {.tp = 8, .dcp = 4, .variant = helix});
  both(only_layer(small_compressed(), 1), {.tp = 4, .dcp = 4});
  both(small_moe(), {.tp = 4, .ep = 4, .variant = dispatch});
  both(small_moe(), {.dpa = 4, .tp = 2, .moe_tp = 2, .ep = 4, .variant = dispatch});
  both(small_moe(), {.dpa = 4, .ep = 4, .variant = gather});
  both(small_moe(), {.dpa = 4, .ep = 4, .variant = {.moe_comm = MoeComm::kAllToAll, .capacity_factor_ratio = 1}});   // also the gather of the routing
  for (const auto& [mutation, tally] : tallies) {
    INFO(kNames[static_cast<int>(mutation)]);
    CHECK(tally.survived == 0);
    CHECK(tally.killed > 0);
  }
}

}  // namespace
}  // namespace shardplan
