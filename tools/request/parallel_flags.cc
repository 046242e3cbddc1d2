#include "tools/request/parallel_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/errors.h"
#include "base/units.h"
#include "tools/cli/flag_builders.h"
#include "tools/request/limits.h"
#include "tools/request/parallel_fields.h"

namespace shardplan {
namespace {

// `flag`, which also notes that it was given.
Flag noted(Flag flag, ParallelFlags& flags) {
  flag.store = [store = std::move(flag.store), key = key_of(flag.name), &flags](const std::string& text) {
    store(text);
    flags.given.push_back(key);
  };
  return flag;
}

Flag degree_flag(const std::string& key, std::int64_t& target, std::string help, CountRange range = {1, kMostGpus}) {
  const std::string name = flag_of(key);
  return {name, "N", std::move(help), [name, range, &target](const std::string& text) { target = parse_count(text, name, range); }, true};
}

Flag layers_flag(ParallelFlags& flags) {
  return {"--pp-layers", "A,B,..", "layers of each pipeline stage", [&flags](const std::string& text) {
            flags.config.pp_layers = parse_counts(text, "--pp-layers", {1, kMostLayers});
          }};
}

// "none", "two_batch", "fused", or "chunk:N".
void store_overlap(const std::string& text, Variant& variant) {
  const std::string where = "--overlap";
  const std::size_t colon = text.find(':');
  const std::vector<std::string> names = {"none", "chunk:2", "two_batch", "fused"};
  const bool chunked = text.substr(0, colon) == "chunk";
  const std::size_t choice = chunked ? 1 : parse_choice(text, where, names);
  constexpr Overlap kValues[] = {Overlap::kNone, Overlap::kChunk, Overlap::kTwoBatch, Overlap::kFused};
  variant.overlap = kValues[choice];
  if (chunked && colon != std::string::npos) {
    variant.overlap_chunks = parse_count(text.substr(colon + 1), where, {2, kMostParts});
  }
}

FlagGroup degree_flags(ParallelFlags& flags) {
  FlagGroup group{"Parallel layout", {}};
  for (const DegreeField& field : degree_fields()) {
    group.flags.push_back(noted(degree_flag(field.name, flags.config.*field.member, field.help), flags));
  }
  group.flags.push_back(noted(degree_flag("dense_tp", flags.config.dense_tp, "ranks that share a dense FFN"), flags));
  group.flags.push_back(noted(layers_flag(flags), flags));
  return group;
}

FlagGroup context_variants(ParallelFlags& flags) {
  Variant& v = flags.config.variant;
  FlagGroup group{"Variants of context parallelism", {}};
  group.flags = {
      choice_flag<DcpComm>("--dcp-comm", "how partial attention is merged (ag_rs)", v.dcp_comm,
                           {{"ag_rs", DcpComm::kAgRs}, {"a2a", DcpComm::kA2a}}),
      switch_flag("--q-replicate", "W_Q on every rank of the dcp group: no all-gather of Q", v.q_replicate),
      switch_flag("--helix", "Helix: W_Q, W_K, W_V on every rank of the dcp group, one exchange of O and LSE", v.helix),
      degree_flag("hop_b", v.hop_b, "batch parts whose Helix exchange hides behind attention (1)", {1, kMostParts}),
      degree_flag("cp_interleave", v.cp_interleave, "consecutive positions on one rank of the dcp group (1)", {1, kMostBlock}),
      choice_flag<PcpComm>("--pcp-comm", "how prefill queries meet the keys of other ranks (all_gather)", v.pcp_comm,
                           {{"ring", PcpComm::kRing}, {"all_gather", PcpComm::kAllGather}, {"all_to_all", PcpComm::kAllToAll}}),
      choice_flag<PcpLayout>("--pcp-layout", "which positions of a prefill a rank takes (zigzag)", v.pcp_layout,
                             {{"contiguous", PcpLayout::kContiguous}, {"zigzag", PcpLayout::kZigzag}, {"striped", PcpLayout::kStriped}}),
  };
  for (Flag& flag : group.flags) flag = noted(std::move(flag), flags);
  return group;
}

FlagGroup expert_variants(ParallelFlags& flags) {
  Variant& v = flags.config.variant;
  FlagGroup group{"Variants of expert parallelism", {}};
  group.flags = {
      choice_flag<MoeComm>("--moe-comm", "how tokens meet experts (replicated, or all_gather with dpa or pcp)", v.moe_comm,
                           {{"all_to_all", MoeComm::kAllToAll}, {"all_gather", MoeComm::kAllGather}, {"replicated", MoeComm::kReplicated}}),
      degree_flag("redundant_experts", v.redundant_experts, "spare expert slots of a layer, placed by EPLB (0)", {0, kMostGpus}),
      {"--capacity-factor", "F", "an expert takes at most F times its even share of a step's tokens, the rest is dropped (none is)",
       [&v](const std::string& text) { v.capacity_factor_ratio = parse_number(text, "--capacity-factor", {0, kMostCapacityFactor}); }},
      switch_flag("--elastic-ep", "attention groups may come and go while the instance serves (--scale-to, --scale)", v.elastic_ep),
      {"--overlap", "none|chunk:N|two_batch|fused", "communication hidden behind expert compute (none)",
       [&v](const std::string& text) { store_overlap(text, v); }},
  };
  for (Flag& flag : group.flags) flag = noted(std::move(flag), flags);
  return group;
}

FlagGroup speculation_variants(ParallelFlags& flags) {
  FlagGroup group{"Speculation", {}};
  group.flags.push_back(noted(degree_flag("speculative_tokens", flags.config.variant.speculative_tokens,
                                          "tokens that the model's MTP modules draft per step (0; --acceptance)", {0, kMostParts}), flags));
  return group;
}

void refuse(bool contradicts, const char* flag, const char* what, const char* hint) {
  if (contradicts) throw InputError(flag, what, hint);
}

// FFN degrees of `ranks` ranks in a stage from those given; left alone where nothing divides (a violation says why).
void complete_experts(ParallelConfig& config, const ParallelFlags& flags) {
  const std::int64_t ranks = config.stage_ranks();
  if (!flags.has("ep") && !flags.has("moe_tp") && !flags.has("moe_dp")) {
    config.moe_tp = ranks;
    return;
  }
  if (ranks % (config.ep * config.moe_tp * config.moe_dp) != 0) return;
  if (!flags.has("moe_tp")) {
    const std::int64_t left = ranks / (config.ep * config.moe_dp);
    config.moe_tp = flags.has("moe_dp") ? left : std::gcd(left, config.tp);
  }
  if (!flags.has("moe_dp")) config.moe_dp = flags.has("ep") ? ranks / (config.ep * config.moe_tp) : 1;
  if (!flags.has("ep")) config.ep = ranks / (config.moe_tp * config.moe_dp);
}

std::int64_t replicas_of(const ParallelConfig& config, std::int64_t gpus) {
  const std::int64_t instance = config.instance_gpus();
  if (gpus % instance == 0) return gpus / instance;
  throw InputError("--gpus", fmt::format("{} GPUs are no whole number of instances of {}", gpus, instance),
                   fmt::format("a multiple of {}", instance));
}

}  // namespace

bool ParallelFlags::has(const std::string& name) const { return std::find(given.begin(), given.end(), name) != given.end(); }

std::vector<FlagGroup> parallel_flags(ParallelFlags& flags) {
  return {degree_flags(flags), context_variants(flags), speculation_variants(flags), expert_variants(flags)};
}

void check_parallel_flags(const ParallelFlags& flags) {
  const ParallelConfig& c = flags.config;
  const Variant& v = c.variant;
  std::int64_t gpus = 1;  // every factor is at most kMostGpus, so the product of two fits
  for (const std::int64_t degree : {c.replicas, c.pp, c.dpa, c.pcp, c.tp}) {
    gpus *= degree;
    if (gpus > kMostGpus) {
      throw InputError("--tp, --dpa, --pcp, --pp, --replicas", "more GPUs than a cluster has",
                       fmt::format("a product of at most {}", format_count(static_cast<double>(kMostGpus))));
    }
  }
  refuse(v.helix && v.q_replicate, "--helix", "contradicts --q-replicate (Helix replicates W_Q, W_K and W_V already)", "one of them");
  refuse(v.helix && flags.has("dcp_comm"), "--helix", "contradicts --dcp-comm (Helix has its own exchange)", "one of them");
  refuse(v.helix && flags.has("dcp") && c.dcp == 1, "--helix", "shards positions over --dcp ranks", "--dcp 2 or more");
  refuse(v.hop_b > 1 && !v.helix, "--hop-b", "overlaps the exchange of Helix", "--helix beside it");
  const bool split_matches = !flags.has("pp") || c.pp == static_cast<std::int64_t>(c.pp_layers.size());
  refuse(flags.has("pp_layers") && !split_matches, "--pp-layers", "has another number of stages than --pp", "one number for each stage");
}

ParallelConfig complete_config(const ParallelFlags& flags, const ModelSpec& model, std::int64_t gpus) {
  ParallelConfig config = flags.config;
  if (flags.has("pp_layers")) config.pp = static_cast<std::int64_t>(config.pp_layers.size());
  if (model.is_moe()) complete_experts(config, flags);
  if (!flags.has("moe_comm") && config.dpa * config.pcp > 1) config.variant.moe_comm = MoeComm::kAllGather;
  if (gpus > 0) {
    const std::int64_t replicas = replicas_of(config, gpus);
    if (flags.has("replicas") && replicas != config.replicas) {
      throw InputError("--replicas", fmt::format("{} instances of {} GPUs are not --gpus {}", config.replicas, config.instance_gpus(), gpus),
                       std::to_string(replicas));
    }
    config.replicas = replicas;
  }
  return config;
}

}  // namespace shardplan
