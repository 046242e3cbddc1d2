// Dense and grouped products.
#include <algorithm>

#include "calibrate/cuda/blaslt_product.h"
#include "calibrate/cuda/device_timer.h"
#include "calibrate/cuda/grouped_product.h"
#include "calibrate/cuda/index_logic.h"
#include "calibrate/cuda/kernel_timers.h"
#include "calibrate/cuda/launchers.h"

namespace shardplan::cuda {
namespace {

// fp8 of any scaling runs with one scale for each operand; formats of fewer bits have no kernel here.
std::optional<ProductFormat> product_format(const std::string& format) {
  if (format == "bf16" || format == "fp16") return ProductFormat::kBf16;
  if (format == "fp32") return ProductFormat::kFp32;
  if (format.starts_with("fp8")) return ProductFormat::kFp8;
  return std::nullopt;
}

bool is_gated(const NodeCase& c) { return c.graph->op_of(c.graph->nodes[c.node]).experts.gated; }

}  // namespace

std::optional<DeviceTiming> time_product(const NodeCase& c, const StoppingRule& rule) {
  const auto format = product_format(c.format);
  if (!format) return std::nullopt;
  const ProductShapes shapes{field(c, "m"), field(c, "n"), field(c, "k"),
                             *format,       false,         std::max<std::int64_t>(field(c, "batch"), 1)};
  const OwnedStream stream;
  const BlasLt library;
  const Buffer<char> workspace(static_cast<std::int64_t>(BlasLtProduct::kWorkspace));
  BlasLtProduct product(library, shapes, workspace.get());
  if (!product.is_served()) return std::nullopt;
  const std::int64_t weight_count = shapes.batch * shapes.n * shapes.k;
  const int copies = copies_of(static_cast<double>(weight_count * bytes_of(*format)));
  std::vector<Buffer<char>> weights;
  for (int i = 0; i < copies; ++i)
    weights.push_back(random_operand(weight_count, *format, static_cast<std::uint64_t>(i) + 2, stream.get()));
  const Buffer<char> x = random_operand(shapes.batch * shapes.m * shapes.k, *format, 1, stream.get());
  const Buffer<char> out(shapes.batch * shapes.m * shapes.n * (*format == ProductFormat::kFp32 ? 4 : 2));
  product.choose(x.get(), weights.front().get(), out.get(), stream.get());
  if (!product.is_served()) return std::nullopt;
  return sampled(stream, copies, rule, product.choice(), [&] {
    for (const Buffer<char>& w : weights) product.run(x.get(), w.get(), out.get(), stream.get());
  });
}

// The routed experts of one rank in bf16, rows dealt evenly: gate and up of all experts, their activation, down.
std::optional<DeviceTiming> time_experts(const NodeCase& c, const StoppingRule& rule) {
  if (c.format != "bf16" || !is_gated(c)) return std::nullopt;
  const std::int64_t experts = std::max<std::int64_t>(field(c, "experts"), 1);
  const std::int64_t rows = std::max<std::int64_t>(field(c, "rows"), 1);
  const std::int64_t hidden = field(c, "k");
  const std::int64_t wide = field(c, "n");  // gate and up together
  std::vector<std::int64_t> of_expert;
  for (std::int64_t e = 0; e < experts; ++e) of_expert.push_back(dealt_rows(rows, experts, e));
  const OwnedStream stream;
  const BlasHandle library(stream.get());
  const int copies = copies_of(static_cast<double>(experts * wide * hidden) * 3);
  std::vector<Buffer<char>> weights;
  const Buffer<char> x = random_operand(rows * hidden, ProductFormat::kBf16, 1, stream.get());
  const Buffer<char> both(rows * wide * 2), middle(rows * wide), out(rows * hidden * 2);
  std::vector<std::unique_ptr<GroupedProduct>> products;
  const auto add = [&](std::int64_t n, std::int64_t k, const Buffer<char>& from, const Buffer<char>& to) {
    const auto seed = static_cast<std::uint64_t>(products.size()) + 2;
    weights.push_back(random_operand(experts * n * k, ProductFormat::kBf16, seed, stream.get()));
    products.push_back(std::make_unique<GroupedProduct>(library, of_expert, n, k, from, weights.back(), to));
  };
  for (int i = 0; i < copies; ++i) {
    add(wide, hidden, x, both);
    add(hidden, wide / 2, middle, out);
  }
  return sampled(stream, copies, rule, "cuBLAS grouped products, without permutation", [&] {
    for (std::size_t i = 0; i < products.size(); i += 2) {
      products[i]->run();
      launch_swiglu_rows(both.get(), middle.get(), rows, wide / 2, stream.get());
      products[i + 1]->run();
    }
  });
}

}  // namespace shardplan::cuda
