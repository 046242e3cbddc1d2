// Dense and grouped products.
#include <algorithm>

#include "calibrate/cuda/blaslt_product.h"
#include "calibrate/cuda/device_timer.h"
#include "calibrate/cuda/expert_products.h"
#include "calibrate/cuda/grouped_product.h"
#include "calibrate/cuda/index_logic.h"
#include "calibrate/cuda/kernel_timers.h"
#include "calibrate/cuda/launchers.h"
#include "calibrate/cuda/operands.h"
#include "calibrate/cuda/spot_check.h"

namespace shardplan::cuda {
namespace {

// fp8 of any scaling runs with one scale for each operand; formats of fewer bits have no kernel here.
std::optional<ProductFormat> product_format(const std::string& format) {
  if (format == "bf16" || format == "fp16") return ProductFormat::kBf16;
  if (format == "fp32") return ProductFormat::kFp32;
  if (format.starts_with("fp8")) return ProductFormat::kFp8;
  return std::nullopt;
}

// Everything of one layer's routed experts but the products: rows to their experts, the activation, rows back.
class ExpertLayer {
 public:
  ExpertLayer(const MeasuredExperts& experts, Activation function, ProductFormat format, const OwnedStream& stream)
      : x_(random_operand(experts.tokens * experts.hidden, ProductFormat::kBf16, 1, stream.get())),
        permuted(experts.all_rows() * experts.hidden * bytes_of(format)),
        both(experts.all_rows() * experts.wide * 2),
        middle(experts.all_rows() * experts.width() * bytes_of(format)),
        down(experts.all_rows() * experts.hidden * 2),
        experts_(experts),
        function_(function),
        element_(format == ProductFormat::kFp8 ? Element::kFp8 : Element::kBf16),
        stream_(stream.get()),
        picks_(experts.experts),
        slot_(picks_.size()),
        begins_(std::ssize(experts.rows) + 1),
        weights_(std::vector<float>(experts.experts.size(), 1.0F / static_cast<float>(experts.per_token))),
        out_(experts.tokens * experts.hidden * 2) {}

  void permute() const {
    launch_slots(picks_.get(), slot_.get(), begins_.get(), picks_.size(), std::ssize(experts_.rows), stream_);
    launch_permute(x_.get(), Element::kBf16, permuted.get(), element_, slot_.get(), experts_.tokens, experts_.hidden,
                   experts_.per_token, stream_);
  }
  void activate() const {
    launch_activate_rows(function_, experts_.gated, both.get(), middle.get(), element_, experts_.all_rows(),
                         experts_.width(), stream_);
  }
  void give_back() const {
    launch_unpermute(down.get(), Element::kBf16, slot_.get(), weights_.get(), out_.get(), experts_.tokens,
                     experts_.hidden, experts_.per_token, stream_);
  }

 private:
  Buffer<char> x_;

 public:
  Buffer<char> permuted, both, middle, down;  // [rows, hidden], [rows, wide], [rows, width], [rows, hidden]

 private:
  const MeasuredExperts& experts_;
  Activation function_;
  Element element_;
  cudaStream_t stream_;
  Buffer<std::int32_t> picks_, slot_, begins_;
  Buffer<float> weights_;
  Buffer<char> out_;
};

// Gate and up of all experts, and their down projections, as many copies as the cache does not hold.
struct ExpertCopies {
  std::vector<Buffer<char>> up, down;
  ExpertCopies(const MeasuredExperts& experts, ProductFormat format, cudaStream_t stream) {
    const std::int64_t of_up = std::ssize(experts.rows) * experts.wide * experts.hidden;
    const std::int64_t of_down = std::ssize(experts.rows) * experts.width() * experts.hidden;
    const int copies = copies_of(static_cast<double>((of_up + of_down) * bytes_of(format)));
    for (int i = 0; i < copies; ++i) {
      const auto seed = static_cast<std::uint64_t>(2 * i) + 2;
      up.push_back(random_operand(of_up, format, seed, stream));
      down.push_back(random_operand(of_down, format, seed + 1, stream));
    }
  }
  [[nodiscard]] int count() const { return static_cast<int>(up.size()); }
};

// Of what the layer's buffers hold after a run with these weights: rows of the first and the last expert that has any.
bool is_layer(const MeasuredExperts& experts, const ExpertLayer& layer, ProductFormat format, const Buffer<char>& up,
              const Buffer<char>& down) {
  std::int64_t first = 0;
  bool right = true;
  for (std::size_t e = 0; e < experts.rows.size(); first += experts.rows[e], ++e) {
    if (experts.rows[e] == 0 || (first > 0 && first + experts.rows[e] < experts.all_rows())) continue;
    const std::int64_t row = first + experts.rows[e] - 1;
    const auto matrix = static_cast<std::int64_t>(e);
    right =
        right && is_product_row({experts.wide, experts.hidden, format, row, matrix}, layer.permuted, up, layer.both);
    right =
        right && is_product_row({experts.hidden, experts.width(), format, row, matrix}, layer.middle, down, layer.down);
  }
  return right;
}

std::optional<DeviceTiming> time_grouped(const MeasuredExperts& experts, const ExpertLayer& layer,
                                         const ExpertCopies& copies, const OwnedStream& stream,
                                         const StoppingRule& rule, const std::string& note) {
  const BlasHandle library(stream.get());
  std::vector<std::unique_ptr<GroupedProduct>> products;
  for (std::size_t i = 0; i < copies.up.size(); ++i) {
    products.push_back(std::make_unique<GroupedProduct>(library, experts.rows, experts.wide, experts.hidden,
                                                        layer.permuted, copies.up[i], layer.both));
    products.push_back(std::make_unique<GroupedProduct>(library, experts.rows, experts.hidden, experts.width(),
                                                        layer.middle, copies.down[i], layer.down));
  }
  DeviceTiming timing = sampled(stream, copies.count(), rule, "cuBLAS grouped products, " + note, [&] {
    for (std::size_t i = 0; i < products.size(); i += 2) {
      layer.permute();
      products[i]->run();
      layer.activate();
      products[i + 1]->run();
      layer.give_back();
    }
  });
  stream.wait();
  timing.is_correct =
      is_layer(experts, layer, ProductFormat::kBf16, copies.up.back(), copies.down.back());  // the last to write
  timing.library = "cublas_grouped";
  return timing;
}

// The library has no grouped product for it, or more launches are better than its grouped kernel.
std::optional<DeviceTiming> time_singles(const MeasuredExperts& experts, const ExpertLayer& layer,
                                         const ExpertCopies& copies, ProductFormat format, const OwnedStream& stream,
                                         const StoppingRule& rule, const std::string& note) {
  constexpr int kStreams = 4;
  const BlasLt library;
  ForkedStreams streams(stream, kStreams);
  const auto shape = [&](std::int64_t n, std::int64_t k) {
    return ProductShapes{.n = n,
                         .k = k,
                         .format = format,
                         .alignment = common_alignment({k * bytes_of(format), n * k * bytes_of(format), n * 2})};
  };
  SingleProducts up(library, streams, experts.rows, shape(experts.wide, experts.hidden));
  SingleProducts down(library, streams, experts.rows, shape(experts.hidden, experts.width()));
  if (!up.is_served() || !down.is_served()) return std::nullopt;
  DeviceTiming timing =
      sampled(stream, copies.count(), rule,
              "cuBLASLt products of each expert on " + std::to_string(kStreams) + " streams, " + note, [&] {
                for (std::size_t i = 0; i < copies.up.size(); ++i) {
                  layer.permute();
                  up.run(layer.permuted, copies.up[i], layer.both);
                  layer.activate();
                  down.run(layer.middle, copies.down[i], layer.down);
                  layer.give_back();
                }
              });
  stream.wait();
  timing.is_correct = is_layer(experts, layer, format, copies.up.back(), copies.down.back());
  timing.library = "cublaslt_single";
  return timing;
}

Activation activation_of(ElementFunction function) {
  return function == ElementFunction::kRelu2 ? Activation::kRelu2 : Activation::kSilu;
}

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
  DeviceTiming timing = sampled(stream, copies, rule, product.choice(), [&] {
    for (const Buffer<char>& w : weights) product.run(x.get(), w.get(), out.get(), stream.get());
  });
  product.run(x.get(), weights.front().get(), out.get(), stream.get());
  stream.wait();
  for (const std::int64_t row : {std::int64_t{0}, shapes.batch * shapes.m - 1}) {
    timing.is_correct = timing.is_correct &&
                        is_product_row({shapes.n, shapes.k, *format, row, row / shapes.m}, x, weights.front(), out);
  }
  return timing;
}

// The routed experts of one rank as a server runs them: rows to their experts, in fp8 quantised on the way; gate and up
// of all experts, their activation, down; and back. How rows spread is the case's.
std::vector<DeviceTiming> time_experts(const NodeCase& c, const StoppingRule& rule) {
  const auto format = product_format(c.format);
  const ExpertsOp& op = c.graph->op_of(c.graph->nodes[c.node]).experts;
  if (!format || *format == ProductFormat::kFp32 || c.routing == nullptr) return {};
  MeasuredExperts experts = measured_experts(*c.routing, c.first_expert, field(c, "experts"));
  experts.hidden = field(c, "k");
  experts.wide = field(c, "n");
  experts.gated = op.gated;
  if (experts.all_rows() == 0) return {};
  const OwnedStream stream;
  const ExpertLayer layer(experts, activation_of(op.function), *format, stream);
  const ExpertCopies copies(experts, *format, stream.get());
  StoppingRule short_rule = rule;
  short_rule.most_seconds /= 4;
  const DeviceTiming moves = sampled(stream, 1, short_rule, "", [&] {
    layer.permute();
    layer.give_back();
  });
  const std::string note = "permutation " + std::to_string(moves.seconds.median * 1e6) + " us of it";
  std::vector<DeviceTiming> timings;
  std::string refused;
  const auto take = [&](const auto& timed) {  // what one library refuses another may do
    try {
      if (auto timing = timed()) timings.push_back(std::move(*timing));
    } catch (const DeviceMemoryError& error) {
      if (timings.empty()) throw;  // what was measured before it stays
      refused = error.what();
    } catch (const EnvironmentError& error) {
      refused = error.what();
    }
  };
  if (*format == ProductFormat::kBf16) take([&] { return time_grouped(experts, layer, copies, stream, rule, note); });
  take([&] { return time_singles(experts, layer, copies, *format, stream, rule, note); });
  if (timings.empty() && !refused.empty()) throw EnvironmentError(refused);
  if (!refused.empty()) timings.front().note += "; " + refused;
  return timings;
}

}  // namespace shardplan::cuda
