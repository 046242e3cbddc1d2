#include "costmodel/parallel_config.h"

#include <fmt/format.h>

namespace shardplan {

const char* name_of(DcpComm value) { return value == DcpComm::kAgRs ? "ag_rs" : "a2a"; }

const char* name_of(PcpComm value) {
  switch (value) {
    case PcpComm::kRing: return "ring";
    case PcpComm::kAllGather: return "all_gather";
    case PcpComm::kAllToAll: return "all_to_all";
  }
  return "?";
}

const char* name_of(PcpLayout value) {
  switch (value) {
    case PcpLayout::kContiguous: return "contiguous";
    case PcpLayout::kZigzag: return "zigzag";
    case PcpLayout::kStriped: return "striped";
  }
  return "?";
}

const char* name_of(MoeComm value) {
  switch (value) {
    case MoeComm::kAllToAll: return "all_to_all";
    case MoeComm::kAllGather: return "all_gather";
    case MoeComm::kReplicated: return "replicated";
  }
  return "?";
}

const char* name_of(Overlap value) {
  switch (value) {
    case Overlap::kNone: return "none";
    case Overlap::kChunk: return "chunk";
    case Overlap::kTwoBatch: return "two_batch";
    case Overlap::kFused: return "fused";
  }
  return "?";
}

std::string short_text(const ParallelConfig& c) {
  std::string text;
  const auto degree = [&text](const char* name, std::int64_t value) {
    if (value > 1) text += fmt::format("{}{}{}", text.empty() ? "" : " ", name, value);
  };
  // A variant stands behind the degree that it is of: "dcp2/a2a ep8/ag".
  const auto with = [&text](const std::string& name) { text += "/" + name; };
  degree("replicas", c.replicas);
  degree("pp", c.pp);
  degree("dpa", c.dpa);
  degree("pcp", c.pcp);
  const Variant& v = c.variant;
  if (c.pcp > 1) with(fmt::format("{}/{}", name_of(v.pcp_comm), name_of(v.pcp_layout)));
  degree("tp", c.tp);
  degree("dcp", c.dcp);
  if (c.dcp > 1) with(v.helix ? "helix" : v.q_replicate ? fmt::format("{}+qrep", name_of(v.dcp_comm)) : name_of(v.dcp_comm));
  degree("moe_dp", c.moe_dp);
  degree("ep", c.ep);
  if (c.ep > 1) with(v.moe_comm == MoeComm::kAllToAll ? "a2a" : v.moe_comm == MoeComm::kAllGather ? "ag" : "repl");
  degree("moe_tp", c.moe_tp);
  degree("redundant", v.redundant_experts);
  if (v.capacity_factor_ratio > 0) text += fmt::format("{}cf{}", text.empty() ? "" : " ", v.capacity_factor_ratio);
  if (v.elastic_ep) text += text.empty() ? "elastic" : " elastic";
  if (v.speculative_tokens > 0) text += fmt::format("{}mtp{}", text.empty() ? "" : " ", v.speculative_tokens);
  return text.empty() ? "1 GPU" : text;
}

}  // namespace shardplan
