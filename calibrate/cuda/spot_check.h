// A few numbers of what a measured kernel wrote, against the same in double on the host: whether operands lay as the
// call said.
//
// Tolerances are wide: formats round, fp8 sums in few bits. A wrong stride or scale is off by much more.
#pragma once

#include <cstdint>
#include <vector>

#include "calibrate/cuda/blaslt_product.h"
#include "calibrate/cuda/memory.h"

namespace shardplan::cuda {

[[nodiscard]] float from_bf16(std::uint16_t bits);
[[nodiscard]] float from_e4m3(std::uint8_t bits);
// `count` numbers from the `first`th on; after all work that writes them is done.
[[nodiscard]] std::vector<float> numbers_of(const Buffer<char>& buffer, ProductFormat format, std::int64_t first,
                                            std::int64_t count);

// The same of `rows` such runs of numbers, each `stride` numbers behind the one before, in one copy.
struct RunsOfNumbers {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t stride = 0;
  std::int64_t rows = 1;
};
[[nodiscard]] std::vector<float> numbers_of(const Buffer<char>& buffer, ProductFormat format,
                                            const RunsOfNumbers& runs);

// Row `row` of out = x w^T, w being the `matrix`th of [n, k] matrices: its first, middle and last number. `out` is
// bf16, or fp32 where the operands are.
struct ProductRow {
  std::int64_t n = 0;
  std::int64_t k = 0;
  ProductFormat format = ProductFormat::kBf16;
  std::int64_t row = 0;
  std::int64_t matrix = 0;
};
[[nodiscard]] bool is_product_row(const ProductRow& at, const Buffer<char>& x, const Buffer<char>& w,
                                  const Buffer<char>& out);

// One query's output over keys and values of its KV head, [keys, dim] each: softmax(scale * q.k) v.
[[nodiscard]] std::vector<double> attended(const std::vector<float>& q, const std::vector<float>& k,
                                           const std::vector<float>& v, double scale);
[[nodiscard]] bool are_close(const std::vector<float>& got, const std::vector<double>& expected, double tolerance);

}  // namespace shardplan::cuda
