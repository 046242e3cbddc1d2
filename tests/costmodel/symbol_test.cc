// Closed forms of the batch's quantities against counts over index sets, on every node of random configurations.
#include "costmodel/symbol.h"

#include <rapidcheck.h>

#include "costmodel/traffic.h"
#include "tests/catch.h"
#include "tests/costmodel/any_config.h"
#include "tests/costmodel/made_models.h"

namespace shardplan {
namespace {

bool counted_exactly(NodeKind kind) {
  return communicates(kind) && kind != NodeKind::kDispatch && kind != NodeKind::kCombine;
}

// Visits every node that sends bytes which the executor counts.
template <class Visit>
void for_each_message(const LoweredModel& lowered, Visit visit) {
  for (const StageGraphs& graphs : lowered.forms) {
    std::vector<const StepGraph*> all{&graphs.embedding, &graphs.head, &graphs.boundary};
    for (const StepGraph& layer : graphs.layers) all.push_back(&layer);
    for (const StepGraph* graph : all) {
      for (const Node& node : graph->nodes) {
        if (counted_exactly(node.kind)) visit(graphs.form, *graph, node);
      }
    }
  }
}

bool runs(StepForm form, const BatchShape& shape) {
  return form == StepForm::kMixed || (form == StepForm::kDecode) == (shape.decode_sequences > 0);
}

TEST_CASE("On even batches the closed form of a message is what the busiest rank sends") {
  CHECK(rc::check([] {
    const ModelSpec& model = *rc::gen::elementOf(property_models());
    const ParallelConfig config = any_config(model);
    const LoweredModel lowered = lowered_or_discard(model, config);
    const BatchShape shape = any_of(0, 1) == 0
                                 ? BatchShape{.decode_sequences = 64, .decode_context = 128}
                                 : BatchShape{.prefill_sequences = 8, .prefill_tokens = 64, .prefill_prefix = 64};
    for_each_message(lowered, [&](StepForm form, const StepGraph& graph, const Node& node) {
      if (!runs(form, shape)) return;
      const TrafficForm traffic = traffic_form(graph, node, nullptr);
      const double closed = traffic.sent_ratio * evaluate(traffic.symbol, shape);
      RC_LOG() << node_kind_name(node.kind) << ' ' << graph.tensor_of(node.inputs[0]).name << " of "
               << short_text(config) << '\n';
      RC_ASSERT(sent_bytes(graph, node, RaggedBatch::from(shape)) == Approx(closed).epsilon(1e-12));
    });
  }));
}

TEST_CASE("On any batch of one phase the closed form is never below what the busiest rank holds") {
  CHECK(rc::check([] {
    const ModelSpec& model = *rc::gen::elementOf(property_models());
    const LoweredModel lowered = lowered_or_discard(model, any_config(model));
    const BatchShape shape = any_of(0, 1) == 0 ? BatchShape{.decode_sequences = any_of(1, 20),
                                                            .decode_context = static_cast<double>(any_of(1, 60))}
                                               : BatchShape{.prefill_sequences = any_of(1, 4),
                                                            .prefill_tokens = any_of(1, 40),
                                                            .prefill_prefix = static_cast<double>(any_of(0, 40))};
    const RaggedBatch batch = RaggedBatch::from(shape);
    for_each_message(lowered, [&](StepForm form, const StepGraph& graph, const Node& node) {
      if (!runs(form, shape)) return;
      const Symbol symbol = traffic_form(graph, node, nullptr).symbol;
      RC_ASSERT(evaluate(symbol, shape) >= static_cast<double>(evaluate_exactly(symbol, graph.mesh, batch)));
    });
  }));
}

Symbol positions(std::int64_t window, std::int64_t parts) {
  Symbol symbol{.kind = SymbolKind::kDecodePositions, .window = window};
  if (parts > 1) symbol.split.runs.push_back({Layout::kStriped, parts});
  return symbol;
}

TEST_CASE("Decode attends to its window, and stripes divide what is left") {
  // 10 sequences of 1000 positions: all, 128 of each in a window, 1000/4 of each in stripes.
  const BatchShape shape{.decode_sequences = 10, .decode_context = 1000};
  CHECK(evaluate(positions(0, 1), shape) == 10000);
  CHECK(evaluate(positions(128, 1), shape) == 1280);
  CHECK(evaluate(positions(0, 4), shape) == 2500);
}

TEST_CASE("A prefill reads its prefix and its own keys, within the window") {
  // 2 prompts of 100 new tokens after 400 cached ones: 2*(400+100) keys; in a window of 64, 2*(64+100).
  const BatchShape shape{.prefill_sequences = 2, .prefill_tokens = 100, .prefill_prefix = 400};
  CHECK(evaluate({.kind = SymbolKind::kKeyPositions}, shape) == 1000);
  CHECK(evaluate({.kind = SymbolKind::kKeyPositions, .window = 64}, shape) == 328);
  // Pairs of one prompt: sum over i = 400..499 of i+1 = 100*450.5.
  CHECK(evaluate({.kind = SymbolKind::kPrefillPairs}, shape) == 2 * 45050);
}

TEST_CASE("The mean over ranks of contiguous prompts is P/(2P-1) of the busiest rank") {
  Symbol pairs{.kind = SymbolKind::kPrefillPairs};
  pairs.split.runs.push_back({Layout::kBlocked, 4});
  const BatchShape shape{.prefill_sequences = 1, .prefill_tokens = 1 << 20};
  CHECK(evaluate_mean(pairs, shape) / evaluate(pairs, shape) == Approx(4.0 / 7).epsilon(1e-5));
}

}  // namespace
}  // namespace shardplan
