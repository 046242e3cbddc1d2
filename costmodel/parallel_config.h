// The engine-neutral parallel configuration of one pool, and its variants.
//
// One instance has pp * dpa * pcp * tp GPUs. Within a stage ranks are numbered (dpa, pcp, tp) with tp innermost;
// the FFN uses the same ranks as (moe_dp, ep, moe_tp) with moe_tp innermost, or ep where Variant::ep_inner says so. dcp adds no GPU: it splits cached
// positions over ranks of the attention group (dcp | tp), or, with pcp > 1, over pcp or over tp*pcp.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace shardplan {

enum class DcpComm { kAgRs, kA2a };                        // merge partial attention by LSE: two collectives, or one
enum class PcpComm { kRing, kAllGather, kAllToAll };       // how prefill queries meet the keys of other ranks
enum class PcpLayout { kContiguous, kZigzag, kStriped };
enum class MoeComm { kAllToAll, kAllGather, kReplicated }; // how tokens meet the experts of other ranks
enum class Overlap { kNone, kChunk, kTwoBatch, kFused };   // communication hidden behind expert compute

struct Variant {
  DcpComm dcp_comm = DcpComm::kAgRs;
  bool q_replicate = false;             // W_Q replicated over dcp: no all-gather of Q
  bool helix = false;                   // W_Q, W_K, W_V replicated over dcp and one exchange of O and LSE
  std::int64_t hop_b = 1;               // Helix: batch parts whose exchange hides behind the next part's attention
  std::int64_t cp_interleave = 1;       // consecutive positions on one rank of the dcp group
  PcpComm pcp_comm = PcpComm::kAllGather;
  PcpLayout pcp_layout = PcpLayout::kZigzag;
  MoeComm moe_comm = MoeComm::kReplicated;
  bool ep_inner = false;                // with ep and moe_tp: ranks of ep are neighbours and moe_tp strides over them
  std::int64_t redundant_experts = 0;   // global spare slots, placed by EPLB
  double capacity_factor_ratio = 0;     // an expert takes at most ceil(factor*T*k/E) tokens of a step; 0: all that pick it
  bool elastic_ep = false;              // attention groups and ranks of ep may change while the instance serves
  Overlap overlap = Overlap::kNone;
  std::int64_t overlap_chunks = 2;      // kChunk
  std::int64_t speculative_tokens = 0;  // drafted by the model's MTP modules in each step, verified in the next; 0: none
  friend bool operator==(const Variant&, const Variant&) = default;
};

struct ParallelConfig {
  std::int64_t replicas = 1;
  std::int64_t pp = 1;
  std::int64_t dpa = 1;
  std::int64_t pcp = 1;
  std::int64_t tp = 1;
  std::int64_t dcp = 1;
  std::int64_t moe_tp = 1;
  std::int64_t ep = 1;
  std::int64_t moe_dp = 1;
  std::int64_t dense_tp = 0;            // width of dense FFNs; 0: tp, or the whole stage for a dense model with dpa > 1
  std::int64_t shared_expert_tp = 0;    // width of shared experts; 0: 1 with all-to-all experts, else dense_tp
  std::vector<std::int64_t> pp_layers;  // layers of each stage; empty: even split, extras as the engine (neutral: first stages)
  Variant variant;

  [[nodiscard]] std::int64_t stage_ranks() const { return dpa * pcp * tp; }
  [[nodiscard]] std::int64_t instance_gpus() const { return pp * stage_ranks(); }
  // Distance between neighbours of the ep and of the moe_tp group.
  [[nodiscard]] std::int64_t ep_stride() const { return variant.ep_inner ? 1 : moe_tp; }
  [[nodiscard]] std::int64_t moe_tp_stride() const { return variant.ep_inner ? ep : 1; }
  [[nodiscard]] std::int64_t gpus() const { return replicas * instance_gpus(); }
  friend bool operator==(const ParallelConfig&, const ParallelConfig&) = default;
};

// "pp4 tp8 dcp2/ag_rs ep8/a2a": what differs from one GPU, for tables.
[[nodiscard]] std::string short_text(const ParallelConfig& config);

[[nodiscard]] const char* name_of(DcpComm value);
[[nodiscard]] const char* name_of(PcpComm value);
[[nodiscard]] const char* name_of(PcpLayout value);
[[nodiscard]] const char* name_of(MoeComm value);
[[nodiscard]] const char* name_of(Overlap value);

}  // namespace shardplan
