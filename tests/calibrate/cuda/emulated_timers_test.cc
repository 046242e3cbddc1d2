// What calibrate run measures on a device, on the emulated one: the operands lie as the calls say, and every record
// names its library.
#include <algorithm>
#include <bit>
#include <cmath>

#include "calibrate/cuda/device_timer.h"
#include "calibrate/cuda/kernel_timers.h"
#include "calibrate/cuda/spot_check.h"
#include "calibrate/run/node_case.h"
#include "calibrate/small_models.h"
#include "tests/catch.h"

namespace shardplan::cuda {
namespace {

const StoppingRule kQuick{.least_samples = 1, .least_seconds = 0, .most_seconds = 0};

std::vector<NodeCase> cases_of(const ModelSpec& model, const std::vector<BatchShape>& shapes) {
  const ExpertLoad zipf{.kind = ExpertLoad::Kind::kZipf, .exponent_ratio = 0.8, .counts = {}};
  return node_cases({.models = {model},
                     .configs = {{.tp = 1}, {.tp = 2, .ep = 2}, {.tp = 2, .moe_tp = 2}},
                     .shapes = shapes,
                     .loads = {zipf}});
}

std::vector<NodeCase> of_kind(std::vector<NodeCase> cases, const std::string& kind) {
  std::erase_if(cases, [&](const NodeCase& c) { return c.kind != kind; });
  return cases;
}

const std::vector<BatchShape> kSteps{{.decode_sequences = 5, .decode_context = 9},
                                     {.prefill_sequences = 2, .prefill_tokens = 11}};

TEST_CASE(
    "unevenly loaded experts are measured with grouped products and one by one, in fp8 one by one, and come out "
    "right") {
  for (const ModelSpec& model : {small_moe(), small_blocks()}) {  // gated or not
    const auto cases = of_kind(cases_of(model, kSteps), "grouped_gemm");
    REQUIRE(!cases.empty());
    for (NodeCase c : cases) {
      INFO(c.key());
      const auto bf16 = time_experts(c, kQuick);
      const bool gated = c.graph->op_of(c.graph->nodes[c.node]).experts.gated;
      // Inner widths that the library's single products take here; else grouped ones alone.
      const bool wide = field(c, "k") % 8 == 0 && field(c, "n") / (gated ? 2 : 1) % 8 == 0;
      for (const DeviceTiming& timing : bf16) CHECK(timing.is_correct);
      if (wide) {
        REQUIRE(bf16.size() == 2);
        CHECK(bf16[1].library == "cublaslt_single");
      }
      CHECK(bf16[0].library == "cublas_grouped");
      CHECK(bf16[0].note.find("permutation") != std::string::npos);
      c.format = "fp8_block";
      const auto fp8 = time_experts(c, kQuick);
      CHECK(fp8.size() == (wide ? 1 : 0));
      for (const DeviceTiming& timing : fp8) CHECK(timing.is_correct);
      c.format = "nvfp4";
      CHECK(time_experts(c, kQuick).empty());
    }
  }
}

TEST_CASE("dense products are measured and come out right in each format that has a kernel") {
  for (NodeCase c : of_kind(cases_of(small_latent(), kSteps), "gemm")) {
    INFO(c.key());
    for (const char* format : {"bf16", "fp8", "fp32"}) {
      c.format = format;
      const auto timing = time_product(c, kQuick);
      CHECK(timing.has_value() == (std::string(format) == "fp32" || field(c, "k") % 8 == 0));
      if (timing) CHECK(timing->is_correct);
    }
    c.format = "int4_g128";
    CHECK_FALSE(time_product(c, kQuick).has_value());
  }
}

TEST_CASE("attention of all requests is measured in one launch and comes out right") {
  int measured = 0;
  for (const ModelSpec& model : {small_dense(), small_windowed(), small_latent()}) {
    for (const char* kind : {"attention_decode", "attention_prefill"}) {
      for (NodeCase c : of_kind(cases_of(model, kSteps), kind)) {
        INFO(c.key());
        const auto timings = time_attention(c, kQuick);
        if (field(c, "heads") == 0) {
          CHECK(timings.empty());
          continue;
        }
        REQUIRE(timings.size() == 1);  // no cuDNN here
        CHECK(timings[0].library == "own");
        CHECK(timings[0].is_correct);
        c.format = "fp8";  // a cache that our kernel does not read
        CHECK(time_attention(c, kQuick).empty());
        ++measured;
      }
    }
  }
  CHECK(measured >= 6);
}

TEST_CASE("attention over a latent has the KV heads of its price, and its values count once") {
  int shared = 0, expanded = 0;
  for (const char* kind : {"attention_decode", "attention_prefill"}) {
    for (const NodeCase& c : of_kind(cases_of(small_latent(), kSteps), kind)) {
      INFO(c.key());
      const bool one = c.graph->op_of(c.graph->nodes[c.node]).attention.shared_kv;
      CHECK(field(c, "kv_heads") == (one ? 1 : field(c, "heads")));
      ++(one ? shared : expanded);
    }
  }
  CHECK(shared > 0);
  CHECK(expanded > 0);
}

TEST_CASE("attention to chosen positions or compressed entries is not measured as dense") {
  int left = 0;
  for (const ModelSpec& model : {small_sparse(), small_compressed()}) {
    for (const char* kind : {"attention_decode", "attention_prefill"}) {
      for (const NodeCase& c : of_kind(cases_of(model, kSteps), kind)) {
        INFO(c.key());
        const auto& op = c.graph->op_of(c.graph->nodes[c.node]);
        const bool dense = op.kind == OpKind::kAttention && op.attention.top_k == 0 && op.attention.entry_tokens == 0;
        CHECK(time_attention(c, kQuick).empty() != dense);
        left += dense ? 0 : 1;
      }
    }
  }
  CHECK(left >= 4);
}

TEST_CASE("small operations are measured as what they are, others not at all; sampling both ways") {
  std::vector<std::string> measured, left;
  for (const NodeCase& c : cases_of(small_gated(), kSteps)) {
    if (c.kind == "sampling") CHECK(time_sampling(c, kQuick).has_value());
    if (c.kind == "cache_write") CHECK(time_cache_write(c, kQuick).has_value());
    if (c.kind == "elementwise") (time_elementwise(c, kQuick) ? measured : left).push_back(c.op);
  }
  for (const char* op : {"norm", "rotary", "activate"})
    CHECK(std::find(measured.begin(), measured.end(), op) != measured.end());
  CHECK(std::find(left.begin(), left.end(), "embed") != left.end());
}

TEST_CASE("numbers of each format are read back as they were written") {
  const Buffer<char> bf16 = random_operand(100, ProductFormat::kBf16, 3, nullptr);
  const Buffer<char> fp8 = random_operand(100, ProductFormat::kFp8, 3, nullptr);
  const Buffer<char> fp32 = random_operand(100, ProductFormat::kFp32, 3, nullptr);
  const auto exact = numbers_of(fp32, ProductFormat::kFp32, 0, 100);
  const auto half = numbers_of(bf16, ProductFormat::kBf16, 0, 100);
  const auto quarter = numbers_of(fp8, ProductFormat::kFp8, 0, 100);
  for (std::size_t i = 0; i < 100; ++i) {
    CHECK(half[i] == Approx(exact[i]).epsilon(1.0 / 256));
    CHECK(quarter[i] == Approx(exact[i]).epsilon(1.0 / 16).margin(0.001));
  }
  for (int bits = 0; bits < 256; ++bits) {
    if ((bits & 0x7F) == 0x7F) continue;
    CHECK(__nv_fp8_e4m3(from_e4m3(static_cast<std::uint8_t>(bits))).bits == bits);
  }
  CHECK(from_e4m3(0x7E) == 448);
}

TEST_CASE("a product with rows or matrices out of place is noticed") {
  constexpr std::int64_t kM = 3, kN = 5, kK = 64;
  const Buffer<char> x = random_operand(kM * kK, ProductFormat::kBf16, 1, nullptr),
                     w = random_operand(2 * kN * kK, ProductFormat::kBf16, 2, nullptr);
  const Buffer<char> out(kM * kN * 2);
  const BlasLt library;
  const Buffer<char> workspace(static_cast<std::int64_t>(BlasLtProduct::kWorkspace));
  const BlasLtProduct product(library, {kM, kN, kK, ProductFormat::kBf16}, workspace.get());
  product.run(x.get(), w.get(), out.get(), nullptr);
  CHECK(is_product_row({kN, kK, ProductFormat::kBf16, 2, 0}, x, w, out));
  CHECK_FALSE(is_product_row({kN, kK, ProductFormat::kBf16, 2, 1}, x, w, out));
  product.run(x.get() + 2 * kK, w.get(), out.get(), nullptr);  // rows begin one too late
  CHECK_FALSE(is_product_row({kN, kK, ProductFormat::kBf16, 1, 0}, x, w, out));
  CHECK_FALSE(are_close({std::nanf("")}, {1.0}, 0.1));
}

}  // namespace
}  // namespace shardplan::cuda
