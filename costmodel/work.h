// What a computing node does on the busiest rank, from shapes and placements alone: FLOPs and bytes as
// coefficient x symbol, by kernel family. No time and no machine here.
//
//   product   2*M*N*K FLOPs; weights once, x and the output in the activation format
//   attention 2*(qk+v)*heads*pairs FLOPs; K and V read once per KV head on the rank, for all tokens of a sequence
//             together, Q and O beside; chosen keys (sparse attention) once for each token
//   index     2*dim*heads FLOPs per pair of a query and any key of its request; keys read once
//   scan      see recurrent_flops_per_token; the state of each request read once a step, written for each decode token
//   experts   2*rows*(gates*H*I) FLOPs on the busiest rank's rows; weights of the experts that are hit at all
// Elementwise nodes read and write their operands. Sharded operands are counted as sharded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "costmodel/expert_load.h"
#include "costmodel/kernel_pricer.h"
#include "costmodel/step_graph.h"
#include "costmodel/symbol.h"

namespace shardplan {

enum class KernelFamily : std::uint8_t { kGemm, kAttentionPrefill, kAttentionDecode, kGroupedGemm, kElementwise, kCacheWrite, kSampling, kScan };
[[nodiscard]] const char* family_name(KernelFamily family);   // as in a profile: "gemm", "attention_decode", ...

struct WorkTerm {
  Symbol symbol;
  double flops = 0;       // per unit of the symbol
  double bytes = 0;       // read and written per unit
  double kv_bytes = 0;    // of `bytes`, cached K and V read
};

// One matrix product of a node, for kernel models finer than a roofline.
struct ProductShape {
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
};

struct WorkForm {
  KernelFamily family = KernelFamily::kElementwise;
  const NumberFormat* format = nullptr;   // of the weights, or of the cache
  std::vector<WorkTerm> terms;
  double weight_bytes = 0;                // read once however many tokens
  std::vector<ProductShape> products;
  bool own_kernel = true;
  // Grouped products: rows and experts hit are functions of the tokens in the EP group (symbol * tokens_ratio).
  bool grouped = false;
  double tokens_ratio = 1;
  double flops_per_row = 0;
  double bytes_per_row = 0;
  double bytes_per_expert = 0;
  // Dense attention. Decode: terms are (queries, positions, pairs); prefill: (queries, keys, pairs, prompts).
  AttentionShape attention;
  // Grouped products: sizes of an expert on the rank, experts of the layer.
  ExpertsShape experts;
};

[[nodiscard]] bool computes(NodeKind kind);   // ring attention both computes and communicates
[[nodiscard]] WorkForm work_form(const StepGraph& graph, const Node& node);

// Bytes of a weight on the fullest rank, scales included.
[[nodiscard]] double held_weight_bytes(const StepGraph& graph, const Tensor& tensor, const Placement& placement);

}  // namespace shardplan
