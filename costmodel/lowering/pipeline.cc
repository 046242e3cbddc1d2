// Pipeline parallelism: contiguous ranges of layers per stage; the residual stream is sent on as it is placed.
//
// T*D*b per boundary and rank pair, no reduction between stages. The first stage has the embedding, the last the final
// norm, head and sampling. Nothing of a layer's table changes; the split of layers is costmodel/stages.h.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "costmodel/lowering/modules.h"

namespace shardplan {
namespace {

void check(const ModelSpec& model, const ParallelConfig& c, std::vector<Violation>& out) {
  if (c.pp > model.layer_count()) {
    out.push_back({"pp_layers", fmt::format("pp {} exceeds the model's {} layers", c.pp, model.layer_count())});
  }
  if (c.pp_layers.empty()) return;
  const std::int64_t sum = std::accumulate(c.pp_layers.begin(), c.pp_layers.end(), std::int64_t{0});
  const bool positive = std::all_of(c.pp_layers.begin(), c.pp_layers.end(), [](std::int64_t n) { return n >= 1; });
  if (static_cast<std::int64_t>(c.pp_layers.size()) != c.pp || sum != model.layer_count() || !positive) {
    out.push_back({"pp_layers", fmt::format("a layer split needs {} positive numbers that add up to {}", c.pp, model.layer_count())});
  }
}

void apply(const StrategyContext&, Strategy&) {}

}  // namespace

StrategyModule pipeline_module() { return {"pipeline", "contiguous layers per stage, residual stream sent on", check, apply}; }

}  // namespace shardplan
