#include "tools/documents/parallel_document.h"

#include <nlohmann/json.hpp>

#include "tools/request/parallel_fields.h"

namespace shardplan {
namespace {

Document variant_document(const ParallelConfig& config) {
  const Variant& v = config.variant;
  Document variant = Document::object();
  if (config.dcp > 1) {
    variant["dcp_comm"] = v.helix ? "helix" : name_of(v.dcp_comm);
    variant["q_replicate"] = v.q_replicate;
    variant["helix"] = v.helix;
    variant["hop_b"] = v.hop_b;
    variant["cp_interleave"] = v.cp_interleave;
  }
  if (config.pcp > 1) {
    variant["pcp_comm"] = name_of(v.pcp_comm);
    variant["pcp_layout"] = name_of(v.pcp_layout);
  }
  if (config.stage_ranks() > 1) variant["moe_comm"] = name_of(v.moe_comm);
  if (config.ep > 1) {
    variant["redundant_experts"] = v.redundant_experts;
    variant["overlap"] = name_of(v.overlap);
    if (v.overlap == Overlap::kChunk) variant["overlap_chunks"] = v.overlap_chunks;
  }
  if (v.elastic_ep) variant["elastic_ep"] = true;
  if (v.capacity_factor_ratio > 0) variant["capacity_factor"] = v.capacity_factor_ratio;
  if (v.speculative_tokens > 0) variant["speculative_tokens"] = v.speculative_tokens;
  return variant;
}

}  // namespace

Document parallel_document(const ParallelConfig& config) {
  Document document = Document::object();
  for (const DegreeField& field : degree_fields()) document[field.name] = config.*field.member;
  if (config.dense_tp > 0) document["dense_tp"] = config.dense_tp;
  if (config.shared_expert_tp > 0) document["shared_expert_tp"] = config.shared_expert_tp;
  if (!config.pp_layers.empty()) document["pp_layers"] = config.pp_layers;
  document["variant"] = variant_document(config);
  return document;
}

}  // namespace shardplan
