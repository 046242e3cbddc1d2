// Attention by cuDNN's fused kernels: decode as its one operation over a paged cache, prefill as the chain of
// operations that it fuses (products, causal mask, softmax), with fewer KV heads than query heads.
//
// bf16. Requests of equal length whose last `tokens` positions ask. Releases before 9.21 have no mask in the one
// operation, so a prefill is a chain.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "calibrate/cuda/cudnn_graph.h"

namespace shardplan::cuda {

struct CudnnAttentionShape {
  std::int64_t batch = 0;
  std::int64_t tokens = 1;  // new ones of each request
  std::int64_t length = 0;  // positions, new ones included
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t qk_dim = 0;
  std::int64_t v_dim = 0;
  std::int64_t page = 0;  // positions of a page of the cache; 0: requests' positions lie one behind the other

  [[nodiscard]] bool is_paged() const { return page > 0; }
  [[nodiscard]] std::int64_t pages() const { return (length + page - 1) / page; }  // of a request
  [[nodiscard]] std::int64_t cached_positions() const { return is_paged() ? batch * pages() * page : batch * length; }
};

// The page of a request's i-th page table entry when pages of all requests are dealt in turn, as they come to lie when
// requests grow together. [batch, pages]
[[nodiscard]] std::vector<std::int32_t> dealt_pages(const CudnnAttentionShape& shape);

// Ids of the operands; 0: the graph has none.
struct CudnnAttentionTensors {
  std::int64_t q = 0;       // [batch, tokens, heads, qk_dim]
  std::int64_t k = 0;       // [positions, kv_heads, qk_dim], positions in pages or request by request
  std::int64_t v = 0;       // [positions, kv_heads, v_dim]
  std::int64_t o = 0;       // [batch, tokens, heads, v_dim]
  std::int64_t scale = 0;   // float of the host
  std::int64_t lowest = 0;  // float of the host: what a masked score becomes
  std::int64_t length = 0;  // int32 of the host, beside `tokens` where there is a prefix
  std::int64_t tokens = 0;
  std::int64_t query_lengths = 0;  // int32 [batch]
  std::int64_t key_lengths = 0;
  std::int64_t key_pages = 0;  // int32 [batch, pages]
  std::int64_t value_pages = 0;
};

// Adds all operations of the shape and finishes the graph. Precondition: one token a request where it is paged.
[[nodiscard]] CudnnAttentionTensors build_attention(CudnnGraph& graph, const CudnnAttentionShape& shape);

}  // namespace shardplan::cuda
