// Tensor parallelism: heads, FFN columns and the vocabulary are split over ranks.
//
// W_Q, W_K, W_V, W_gate, W_up: Shard(outputs); W_O, W_down: Shard(inputs), so each block ends in Partial(sum) and one
// all-reduce of T*D*b: 2*(N-1)/N of it sent per rank. Whole heads only. KV heads beyond h_kv ranks are replicated
// (layout `whole`). Embedding lookup over Shard(vocab) is Partial(sum); logits come out Shard(vocab).
#include <fmt/format.h>

#include <algorithm>

#include "costmodel/lowering/modules.h"

namespace shardplan {
namespace {

void require_divides(std::int64_t count, std::int64_t parts, const char* rule, const std::string& what, std::vector<Violation>& out) {
  if (count % parts != 0) out.push_back({rule, fmt::format("{} {} cannot be split {} ways", count, what, parts)});
}

void check_attention(const AttentionSpec& attention, const ParallelConfig& c, std::vector<Violation>& out) {
  require_divides(attention.q_heads, c.tp, "q_heads_divisible", "query heads", out);
  if (attention.kind == AttentionKind::kCompressed) require_divides(attention.compressed.output_groups, c.tp, "output_groups_divisible", "groups of the output projection", out);
  if (attention.kind != AttentionKind::kGrouped) return;
  const std::int64_t width = c.pcp > 1 && c.dcp == c.pcp * c.tp ? 1 : (c.pcp > 1 ? c.tp : std::max<std::int64_t>(1, c.tp / c.dcp));
  if (attention.kv_heads % width != 0 && width % attention.kv_heads != 0) {
    out.push_back({"kv_heads_aligned", fmt::format("{} KV heads over {} ranks: neither divides the other", attention.kv_heads, width)});
  }
}

void check(const ModelSpec& model, const ParallelConfig& c, std::vector<Violation>& out) {
  const std::size_t before = out.size();
  for (const LayerKind& kind : model.kinds) {
    if (out.size() > before) return;   // one kind's complaint is enough
    check_attention(kind.attention, c, out);
    if (kind.ffn.kind == FfnKind::kDense) {
      require_divides(kind.ffn.intermediate, dense_width(model, c), "ffn_divisible", "FFN columns", out);
    } else {
      require_divides(kind.ffn.intermediate, c.moe_tp, "expert_columns_divisible", "columns of an expert", out);
      if (kind.ffn.shared_intermediate > 0) {
        require_divides(kind.ffn.shared_intermediate, shared_width(model, c), "ffn_divisible", "shared-expert columns", out);
      }
    }
  }
}

void apply(const StrategyContext& context, Strategy& s) {
  s.rows.push_back({Part::kAttention, "", Dim::kHeads, s.axes.tp});
  s.rows.push_back({Part::kAttention, "", Dim::kKvHeads, s.axes.heads, Layout::kWhole});
  s.rows.push_back({Part::kDenseFfn, "", Dim::kFfn, s.axes.dense});
  s.rows.push_back({Part::kSharedExpert, "", Dim::kFfn, s.axes.shared});
  s.rows.push_back({Part::kEmbedding, "", Dim::kVocab, s.axes.tp});
  s.rows.push_back({Part::kHead, "", Dim::kVocab, s.axes.tp});
  if (!splits_residual(context.model, context.config)) return;
  // Sequence parallel between blocks; attention gathers its group's tokens first.
  if (context.form == StepForm::kDecode) s.residual.append(Dim::kTokens, s.axes.pcp, Layout::kContiguous);
  s.residual.append(Dim::kTokens, s.axes.tp, Layout::kContiguous);
  PinRow pin{"attention_in", Dim::kTokens, {}};
  for (const Shard& shard : s.residual.of(Dim::kTokens)) {
    if (shard.layout == Layout::kByRequest || shard.layout == Layout::kContiguous) continue;
    pin.digits.push_back(shard.digit);
    pin.layout = shard.layout;
  }
  s.pins.push_back(pin);
}

}  // namespace

StrategyModule tensor_parallel_module() {
  return {"tensor_parallel", "heads, FFN columns and vocabulary split over ranks", check, apply};
}

}  // namespace shardplan
