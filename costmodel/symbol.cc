#include "costmodel/symbol.h"

#include <algorithm>

#include "base/errors.h"
#include "base/quantity.h"

namespace shardplan {
namespace {

double within(double length, std::int64_t window) {
  return window > 0 ? std::min(length, static_cast<double>(window)) : length;
}

// The run of the split that cuts a prompt's positions (context parallel), and how many whole requests a rank keeps.
struct PromptSplit {
  Layout layout = Layout::kBlocked;
  std::int64_t parts = 1;
  std::int64_t request_parts = 1;
};

PromptSplit prompt_split(const RaggedSplit& split) {
  PromptSplit result;
  for (const RaggedSplit::Run& run : split.runs) {
    if (run.layout == Layout::kByRequest) result.request_parts *= run.parts;
    else if (run.layout != Layout::kContiguous) {
      result.layout = run.layout;
      result.parts = run.parts;
    }
  }
  return result;
}

CausalTask task_of(const Symbol& symbol, const BatchShape& shape, const PromptSplit& split) {
  return {.layout = split.layout, .parts = split.parts, .new_tokens = shape.prefill_tokens,
          .prefix = static_cast<std::int64_t>(shape.prefill_prefix), .window = symbol.window,
          .interleave = symbol.split.interleave, .causal = symbol.causal};
}

double prompts_per_rank(const BatchShape& shape, const PromptSplit& split) {
  return static_cast<double>(ceil_div(shape.prefill_sequences, split.request_parts));
}

double decode_pairs(const Symbol& symbol, const BatchShape& shape) {
  double pairs = 0;
  for (std::int64_t back = 0; back < shape.decode_tokens; ++back) {
    pairs += max_positions(symbol.split, shape.decode_sequences, within(shape.decode_context - static_cast<double>(back), symbol.window));
  }
  return pairs;
}

}  // namespace

bool operator==(const Symbol& a, const Symbol& b) {
  return a.kind == b.kind && a.phase == b.phase && a.list == b.list && a.split == b.split && a.window == b.window && a.every == b.every && a.causal == b.causal;
}

double evaluate(const Symbol& symbol, const BatchShape& shape) {
  switch (symbol.kind) {
    case SymbolKind::kOne: return 1;
    case SymbolKind::kTokens: return max_tokens(symbol.split, shape, symbol.phase);
    case SymbolKind::kDecodePositions: {
      const std::int64_t window = symbol.window > 0 ? symbol.window + shape.decode_tokens - 1 : 0;   // of all tokens together
      return max_positions(symbol.split, shape.decode_sequences, within(shape.decode_context, window));
    }
    case SymbolKind::kDecodePairs: return decode_pairs(symbol, shape);
    case SymbolKind::kPrefixPositions:
      return max_positions(symbol.split, shape.prefill_sequences, symbol.window > 0 ? within(shape.prefill_prefix, symbol.window - 1) : shape.prefill_prefix);
    case SymbolKind::kKeyPositions: {
      const double fresh = static_cast<double>(shape.prefill_tokens);
      return prompts_per_rank(shape, prompt_split(symbol.split)) * (within(shape.prefill_prefix, symbol.window) + fresh);
    }
    case SymbolKind::kPrefillSequences:
      return shape.prefill_sequences == 0 ? 0 : prompts_per_rank(shape, prompt_split(symbol.split));
    case SymbolKind::kPrefillPairs:
    case SymbolKind::kRingPairs: {
      if (shape.prefill_sequences == 0) return 0;
      const PromptSplit split = prompt_split(symbol.split);
      const CausalTask task = task_of(symbol, shape, split);
      return prompts_per_rank(shape, split) * (symbol.kind == SymbolKind::kRingPairs ? ring_pairs(task) : busiest_pairs(task));
    }
  }
  throw InternalError("symbol without a value");
}

double evaluate_mean(const Symbol& symbol, const BatchShape& shape) {
  if (symbol.kind != SymbolKind::kPrefillPairs && symbol.kind != SymbolKind::kRingPairs) return evaluate(symbol, shape);
  if (shape.prefill_sequences == 0) return 0;
  const PromptSplit split = prompt_split(symbol.split);
  const CausalTask task = task_of(symbol, shape, split);
  return prompts_per_rank(shape, split) * total_pairs(task) / static_cast<double>(split.parts);
}

std::int64_t evaluate_exactly(const Symbol& symbol, const Mesh& mesh, const RaggedBatch& batch) {
  if (symbol.kind == SymbolKind::kOne) return 1;
  const bool tokens = symbol.kind == SymbolKind::kTokens;
  ensure(tokens || symbol.kind == SymbolKind::kPrefixPositions, "only counts are exact");
  const auto all = tokens ? batch_tokens(batch, symbol.phase) : batch_positions(batch, Phase::kPrefill, false, {symbol.every, symbol.window});
  std::int64_t most = 0;
  for (std::int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    const auto held = held_tokens(mesh, symbol.list, batch, all, symbol.split.interleave, rank);
    most = std::max(most, static_cast<std::int64_t>(held.size()));
  }
  return most * symbol.every;
}

}  // namespace shardplan
