// Speculation: the model's MTP modules draft k tokens of each sequence in a step, the next step verifies them.
//
// Decode tokens become k+1 of a sequence: attention reads its cache once for all of them, everything else has k+1 times
// the tokens, and logits are needed for each. Then the modules run: each fills its own cache for all tokens of the step
// (prompts too) and makes one token; beyond the last module the first runs again, for one token of each sequence.
// Module layers are placed by the rows of the model's layers, the product before them is replicated. Nothing of a
// layer's table changes: see costmodel/lowered_model.h. Wrong: trees of drafts and draft models of their own are not
// modelled.
#include <fmt/format.h>

#include "costmodel/lowering/modules.h"

namespace shardplan {
namespace {

constexpr std::int64_t kMostDrafts = 16;  // engines stop at single digits

void check(const ModelSpec& model, const ParallelConfig& c, std::vector<Violation>& out) {
  const std::int64_t drafts = c.variant.speculative_tokens;
  if (drafts == 0) return;
  if (drafts < 0 || drafts > kMostDrafts) {
    out.push_back(
        {"speculative_tokens", fmt::format("{} drafted tokens per step; 0 to {} are modelled", drafts, kMostDrafts)});
  } else if (model.mtp_modules == 0) {
    out.push_back({"mtp_modules",
                   fmt::format("{} has no MTP module to draft with, and draft models of their own are not modelled: "
                               "plan without speculative tokens, or take a checkpoint that has one",
                               model.name.empty() ? "the model" : model.name)});
  }
}

void apply(const StrategyContext&, Strategy&) {}

}  // namespace

StrategyModule speculation_module() {
  return {"speculation", "MTP modules draft tokens that the next step verifies", check, apply};
}

}  // namespace shardplan
