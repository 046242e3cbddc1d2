// No weight is lost, and none is stored more often than its placement declares.
#include <rapidcheck.h>

#include "costmodel/work.h"
#include "tests/catch.h"
#include "tests/costmodel/any_config.h"
#include "tests/costmodel/held_shards.h"
#include "tests/costmodel/made_models.h"

namespace shardplan {
namespace {

// How many ranks hold each element of a tensor, elements in row-major order of its dimensions.
std::vector<std::int64_t> holders(const StepGraph& graph, const Value& value) {
  const Tensor& tensor = graph.logical.tensor(value.tensor);
  std::int64_t elements = 1;
  for (const DimExtent& dim : tensor.dims) elements *= dim.extent;
  std::vector<std::int64_t> counts(static_cast<std::size_t>(elements), 0);
  for (std::int64_t rank = 0; rank < graph.mesh.ranks(); ++rank) {
    Indices held{0};
    for (const DimExtent& dim : tensor.dims) {
      Indices next;
      for (const std::int64_t outer : held) {
        for (const std::int64_t i : held_indices(graph.mesh, value.placement.of(dim.dim), dim.extent, rank))
          next.push_back(outer * dim.extent + i);
      }
      held = std::move(next);
    }
    for (const std::int64_t element : held) ++counts[static_cast<std::size_t>(element)];
  }
  return counts;
}

// Digits that split nothing repeat the tensor; whole heads repeat where there are more ranks than heads.
std::int64_t declared_copies(const StepGraph& graph, const Value& value) {
  const Tensor& tensor = graph.logical.tensor(value.tensor);
  std::int64_t copies = graph.mesh.ranks();
  for (const Shard& shard : value.placement.shards) copies /= graph.mesh.size(DigitList{shard.digit});
  for (const DimExtent& dim : tensor.dims) {
    const ShardList list = value.placement.of(dim.dim);
    if (!list.empty() && list.front().layout == Layout::kWhole) {
      copies *= std::max<std::int64_t>(1, graph.mesh.size(value.placement.digits(dim.dim)) / dim.extent);
    }
  }
  return copies;
}

template <class Visit>
void for_each_weight(const LoweredModel& lowered, Visit visit) {
  for (const StageGraphs& graphs : lowered.forms) {
    std::vector<const StepGraph*> all{&graphs.embedding, &graphs.head};
    for (const StepGraph& layer : graphs.layers) all.push_back(&layer);
    for (const StepGraph* graph : all) {
      for (const Value& value : graph->values) {
        if (graph->logical.tensor(value.tensor).lifetime == Lifetime::kWeight) visit(*graph, value);
      }
    }
  }
}

TEST_CASE("Every element of every weight is held by exactly its declared number of ranks") {
  const auto models = small_family_models();
  CHECK(rc::check([&] {
    const ModelSpec& model = *rc::gen::elementOf(models);
    for_each_weight(lowered_or_discard(model, any_config(model)), [](const StepGraph& graph, const Value& value) {
      const std::int64_t declared = declared_copies(graph, value);
      for (const std::int64_t count : holders(graph, value)) RC_ASSERT(count == declared);
    });
  }));
}

TEST_CASE("The bytes of all ranks are the unsharded bytes times the declared copies") {
  // Exactly where parts are even; the fullest rank stands for all, so never less.
  const auto models = small_family_models();
  CHECK(rc::check([&] {
    const ModelSpec& model = *rc::gen::elementOf(models);
    for_each_weight(lowered_or_discard(model, any_config(model)), [](const StepGraph& graph, const Value& value) {
      const Tensor& tensor = graph.logical.tensor(value.tensor);
      const double whole = held_weight_bytes(graph, tensor, Placement{});
      const double all = held_weight_bytes(graph, tensor, value.placement) * static_cast<double>(graph.mesh.ranks());
      const double declared = whole * static_cast<double>(declared_copies(graph, value));
      const bool even = tensor.part != Part::kEmbedding && tensor.part != Part::kHead;  // the vocabulary of 42
      if (even) RC_ASSERT(all == declared);
      RC_ASSERT(all >= declared);
    });
  }));
}

// Weights of the same name differ by part: w_up of routed and of shared experts.
const Value& same_tensor(const StepGraph& graph, const Tensor& wanted) {
  for (const Value& value : graph.values) {
    const Tensor& tensor = graph.logical.tensor(value.tensor);
    if (tensor.part == wanted.part && std::string(tensor.name) == wanted.name) return value;
  }
  throw InternalError("the other phase lacks a weight");
}

TEST_CASE("Prefill and decode agree on where weights and caches lie") {
  const auto models = small_family_models();
  CHECK(rc::check([&] {
    const ModelSpec& model = *rc::gen::elementOf(models);
    const LoweredModel lowered = lowered_or_discard(model, any_config(model));
    if (lowered.mixes()) return;
    for (std::size_t k = 0; k < model.kinds.size(); ++k) {
      const StepGraph& decode = lowered.forms.front().layers[k];
      const StepGraph& prefill = lowered.forms.back().layers[k];
      for (const Value& value : decode.values) {
        const Tensor& tensor = decode.logical.tensor(value.tensor);
        if (tensor.lifetime == Lifetime::kActivation || std::string(tensor.name) == "w_norm") continue;
        RC_ASSERT(same_tensor(prefill, tensor).placement == value.placement);
      }
    }
  }));
}

}  // namespace
}  // namespace shardplan
