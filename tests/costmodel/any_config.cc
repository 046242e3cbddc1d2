#include "tests/costmodel/any_config.h"

#include <rapidcheck.h>

#include <optional>

#include "tests/costmodel/setup.h"

namespace shardplan {
namespace {

// 1, 2, 4, ... at most `most`.
std::int64_t any_degree(std::int64_t most) {
  std::int64_t doublings = 0;
  while (2LL << doublings <= most) ++doublings;
  return std::int64_t{1} << any_of(0, doublings);
}

template <class Choice>
Choice any_choice(Choice last) {
  return static_cast<Choice>(any_of(0, static_cast<std::int64_t>(last)));
}

Variant any_variant(const ParallelConfig& config) {
  Variant v;
  if (config.dcp > 1) {
    v.cp_interleave = any_degree(4);
    v.dcp_comm = any_choice(DcpComm::kA2a);
    v.q_replicate = any_of(0, 2) == 0;
    v.helix = !v.q_replicate && any_of(0, 2) == 0;
    v.hop_b = v.helix ? any_degree(8) : 1;
  }
  if (config.pcp > 1) {
    v.pcp_comm = any_choice(PcpComm::kAllToAll);
    v.pcp_layout = any_choice(PcpLayout::kStriped);
  }
  v.moe_comm = any_choice(MoeComm::kReplicated);
  v.overlap = any_choice(Overlap::kFused);
  return v;
}

ParallelConfig draw(const ModelSpec& model, std::int64_t most_ranks) {
  ParallelConfig config;
  config.pp = any_of(1, 2);
  config.tp = any_degree(most_ranks);
  config.dpa = any_degree(most_ranks / config.tp);
  config.pcp = any_degree(most_ranks / config.tp / config.dpa);
  config.dcp = any_degree(config.tp * config.pcp);
  if (model.is_moe()) {
    config.moe_tp = any_degree(config.stage_ranks());
    config.ep = any_degree(config.stage_ranks() / config.moe_tp);
    config.moe_dp = config.stage_ranks() / config.moe_tp / config.ep;
  }
  config.variant = any_variant(config);
  if (model.is_moe() && any_of(0, 2) == 0)
    config.variant.capacity_factor_ratio = 0.5 * static_cast<double>(any_of(1, 4));
  return config;
}

}  // namespace

std::int64_t any_of(std::int64_t from, std::int64_t to) { return *rc::gen::inRange<std::int64_t>(from, to + 1); }

ParallelConfig any_config(const ModelSpec& model, std::int64_t most_ranks) {
  for (int attempt = 0; attempt < 40; ++attempt) {
    ParallelConfig config = draw(model, most_ranks);
    if (check_config(model, config).empty()) return config;
  }
  return {};
}

LoweredModel lowered_or_discard(const ModelSpec& model, const ParallelConfig& config) {
  try {
    return lower_model(model, config, default_formats(model));
  } catch (const LoweringRefusal& refusal) {
    RC_DISCARD(refusal.what());
  }
}

BatchShape even_decode() { return {.decode_sequences = 64, .decode_context = 2048}; }

BatchShape even_prefill(bool with_prefix) {
  return {.prefill_sequences = 8, .prefill_tokens = 256, .prefill_prefix = with_prefix ? 1024.0 : 0.0};
}

}  // namespace shardplan
