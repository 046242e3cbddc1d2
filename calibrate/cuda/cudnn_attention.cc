#include "calibrate/cuda/cudnn_attention.h"

namespace shardplan::cuda {
namespace {

using Dims = CudnnDims;
constexpr cudnnDataType_t kElement = CUDNN_DATA_BFLOAT16;
constexpr cudnnDataType_t kFloat = CUDNN_DATA_FLOAT;
constexpr cudnnDataType_t kInt = CUDNN_DATA_INT32;

// [rows, heads, positions, dim] of memory that has positions before heads.
struct Layout {
  Dims dims;
  Dims strides;
};
Layout layout(std::int64_t rows, std::int64_t positions, std::int64_t heads, std::int64_t dim) {
  return {{rows, heads, positions, dim}, {positions * heads * dim, dim, heads * dim, 1}};
}

std::int64_t add(CudnnGraph& graph, const Layout& l) { return graph.tensor(l.dims, l.strides, kElement); }

std::int64_t per_request(CudnnGraph& graph, const CudnnAttentionShape& s) {
  return graph.tensor({s.batch, 1, 1, 1}, {1, 1, 1, 1}, kInt);
}

std::int64_t page_table(CudnnGraph& graph, const CudnnAttentionShape& s) {
  return graph.tensor({s.batch, 1, s.pages(), 1}, {s.pages(), s.pages(), 1, 1}, kInt);
}

CudnnAttentionTensors add_operation(CudnnGraph& graph, const CudnnAttentionShape& s) {
  CudnnAttentionTensors ids;
  const std::int64_t rows = s.is_paged() ? s.batch * s.pages() : s.batch;
  const std::int64_t positions = s.is_paged() ? s.page : s.length;
  ids.q = add(graph, layout(s.batch, s.tokens, s.heads, s.qk_dim));
  ids.k = add(graph, layout(rows, positions, s.kv_heads, s.qk_dim));
  ids.v = add(graph, layout(rows, positions, s.kv_heads, s.v_dim));
  ids.o = add(graph, layout(s.batch, s.tokens, s.heads, s.v_dim));
  ids.scale = graph.number(kFloat);
  if (s.is_paged()) {
    ids.query_lengths = per_request(graph, s);
    ids.key_lengths = per_request(graph, s);
    ids.key_pages = page_table(graph, s);
    ids.value_pages = page_table(graph, s);
  }
  graph.operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR,
                  {{CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, ids.q},
                   {CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, ids.k},
                   {CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, ids.v},
                   {CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, ids.o},
                   {CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, ids.scale},
                   {CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_QDESC, ids.query_lengths},
                   {CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC, ids.key_lengths},
                   {CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_KDESC, ids.key_pages},
                   {CUDNN_ATTR_OPERATION_SDPA_FWD_PAGE_TABLE_VDESC, ids.value_pages}});
  return ids;
}

// Scores whose key comes after their query become the lowest number: row + (length - tokens) >= column.
std::int64_t masked(CudnnGraph& graph, const CudnnAttentionShape& s, const Dims& dims, std::int64_t scores,
                    CudnnAttentionTensors& ids) {
  std::int64_t row = graph.between(dims, kInt);
  graph.pointwise({.mode = CUDNN_POINTWISE_GEN_INDEX, .x = scores, .axis = 2, .math = kInt}, row);
  if (s.length != s.tokens) {
    ids.length = graph.number(kInt);
    ids.tokens = graph.number(kInt);
    const std::int64_t behind = graph.between(dims, kInt);
    graph.pointwise({.mode = CUDNN_POINTWISE_ADD, .x = row, .b = ids.length, .math = kInt}, behind);
    row = graph.between(dims, kInt);
    graph.pointwise({.mode = CUDNN_POINTWISE_SUB, .x = behind, .b = ids.tokens, .math = kInt}, row);
  }
  const std::int64_t column = graph.between(dims, kInt);
  graph.pointwise({.mode = CUDNN_POINTWISE_GEN_INDEX, .x = scores, .axis = 3, .math = kInt}, column);
  const std::int64_t seen = graph.between(dims, CUDNN_DATA_BOOLEAN);
  graph.pointwise({.mode = CUDNN_POINTWISE_CMP_GE, .x = row, .b = column, .math = CUDNN_DATA_BOOLEAN}, seen);
  ids.lowest = graph.number(kFloat);
  const std::int64_t left = graph.between(dims, kFloat);
  graph.pointwise({.mode = CUDNN_POINTWISE_BINARY_SELECT, .x = scores, .b = ids.lowest, .t = seen}, left);
  return left;
}

// The library fuses a softmax that has its log-sum-exp made beside it, though nobody reads that here.
std::int64_t softmax(CudnnGraph& graph, const Dims& dims, std::int64_t scores) {
  const Dims per_row{dims[0], dims[1], dims[2], 1};
  const std::int64_t most = graph.between(per_row, kFloat);
  graph.reduce(CUDNN_REDUCE_TENSOR_MAX, scores, most);
  const std::int64_t below = graph.between(dims, kFloat);
  graph.pointwise({.mode = CUDNN_POINTWISE_SUB, .x = scores, .b = most}, below);
  const std::int64_t weights = graph.between(dims, kFloat);
  graph.pointwise({.mode = CUDNN_POINTWISE_EXP, .x = below}, weights);
  const std::int64_t sum = graph.between(per_row, kFloat);
  graph.reduce(CUDNN_REDUCE_TENSOR_ADD, weights, sum);
  const std::int64_t log = graph.between(per_row, kFloat);
  graph.pointwise({.mode = CUDNN_POINTWISE_LOG, .x = sum}, log);
  const std::int64_t lse = graph.between(per_row, kFloat);
  graph.pointwise({.mode = CUDNN_POINTWISE_ADD, .x = most, .b = log}, lse);
  const std::int64_t shares = graph.between(dims, kElement);  // what the second product takes
  graph.pointwise({.mode = CUDNN_POINTWISE_DIV, .x = weights, .b = sum}, shares);
  return shares;
}

CudnnAttentionTensors add_chain(CudnnGraph& graph, const CudnnAttentionShape& s) {
  CudnnAttentionTensors ids;
  const Dims scores{s.batch, s.heads, s.tokens, s.length};
  ids.q = add(graph, layout(s.batch, s.tokens, s.heads, s.qk_dim));
  Layout k = layout(s.batch, s.length, s.kv_heads, s.qk_dim);  // transposed for the product
  std::swap(k.dims[2], k.dims[3]);
  std::swap(k.strides[2], k.strides[3]);
  ids.k = add(graph, k);
  ids.v = add(graph, layout(s.batch, s.length, s.kv_heads, s.v_dim));
  ids.o = add(graph, layout(s.batch, s.tokens, s.heads, s.v_dim));
  ids.scale = graph.number(kFloat);
  const std::int64_t products = graph.between(scores, kFloat);
  graph.matmul(ids.q, ids.k, products);
  const std::int64_t scaled = graph.between(scores, kFloat);
  graph.pointwise({.mode = CUDNN_POINTWISE_MUL, .x = products, .b = ids.scale}, scaled);
  const std::int64_t shares = softmax(graph, scores, masked(graph, s, scores, scaled, ids));
  graph.matmul(shares, ids.v, ids.o);
  return ids;
}

}  // namespace

std::vector<std::int32_t> dealt_pages(const CudnnAttentionShape& shape) {
  std::vector<std::int32_t> pages;
  for (std::int64_t request = 0; request < shape.batch; ++request) {
    for (std::int64_t i = 0; i < shape.pages(); ++i)
      pages.push_back(static_cast<std::int32_t>(i * shape.batch + request));
  }
  return pages;
}

CudnnAttentionTensors build_attention(CudnnGraph& graph, const CudnnAttentionShape& shape) {
  ensure(!shape.is_paged() || shape.tokens == 1, "a paged prefill");
  const CudnnAttentionTensors ids = shape.tokens == 1 ? add_operation(graph, shape) : add_chain(graph, shape);
  graph.finish();
  return ids;
}

}  // namespace shardplan::cuda
