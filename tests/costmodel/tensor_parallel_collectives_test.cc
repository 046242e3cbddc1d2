// Golden list of the collectives of tensor parallelism, attention data parallelism and pipelines: kind, value, group
// and bytes sent by the busiest rank in one layer. Any legal table gives right numbers; only this sees a wasteful one.
#include "models/catalog.h"
#include "tests/catch.h"
#include "tests/costmodel/setup.h"

namespace shardplan {
namespace {

using Lines = std::vector<std::string>;

constexpr BatchShape kDecode{.decode_sequences = 64, .decode_context = 32768};
constexpr BatchShape kPrompt{.prefill_sequences = 1, .prefill_tokens = 32768};

// Qwen3-235B: D = 4096, 64 query and 4 KV heads of 128. Llama-3.1-70B: D = 8192, 64 and 8 heads. bf16 throughout.
Lines qwen(const ParallelConfig& config, const BatchShape& shape) {
  return layer_collectives(load_model("qwen3-235b-a22b"), config, shape);
}
Lines llama(const ParallelConfig& config, const BatchShape& shape) {
  return layer_collectives(load_model("llama-3.1-70b"), config, shape);
}

TEST_CASE("One GPU sends nothing") {
  CHECK(qwen({}, kDecode).empty());
  CHECK(llama({}, kPrompt).empty());
}

TEST_CASE("TP all-reduces twice per layer") {
  // 2*(8-1)/8 * T*D*b each: 64 tokens of 8 KiB, 917,504; a prompt of 32k 512 times that.
  CHECK(qwen({.tp = 8, .moe_tp = 8}, kDecode) ==
        Lines{"all_reduce attention_out over 8: 917504", "all_reduce experts_out over 8: 917504"});
  CHECK(llama({.tp = 8}, kDecode) ==
        Lines{"all_reduce attention_out over 8: 1835008", "all_reduce ffn_out over 8: 1835008"});
  CHECK(llama({.tp = 8}, kPrompt) ==
        Lines{"all_reduce attention_out over 8: 939524096", "all_reduce ffn_out over 8: 939524096"});
}

TEST_CASE("Attention data parallelism gathers tokens into the dense FFN and scatters its sums") {
  // R = 8: (R-1)/R * 64*8192*2 = 917,504 in and out. Around attention the group of 4 gathers its 32 tokens from its
  // sequence-parallel parts and scatters them again: 3/4 * 32*8192*2 = 393,216.
  CHECK(llama({.dpa = 2, .tp = 4}, kDecode) ==
        Lines{"all_gather attention_in over 4: 393216", "reduce_scatter attention_out over 4: 393216",
              "all_gather ffn_in over 8: 917504", "reduce_scatter ffn_out over 8: 917504"});
}

TEST_CASE("Attention data parallelism pads to the largest group") {
  // 65 requests over 2 groups: 33 and 32. 8 ranks hold ceil(33/4) = 9 tokens at most: 7*9*16,384 sent.
  const BatchShape odd{.decode_sequences = 65, .decode_context = 1024};
  CHECK(llama({.dpa = 2, .tp = 4}, odd) ==
        Lines{"all_gather attention_in over 4: 442368", "reduce_scatter attention_out over 4: 442368",
              "all_gather ffn_in over 8: 1032192", "reduce_scatter ffn_out over 8: 1032192"});
}

TEST_CASE("Attention groups with replicated experts exchange tokens between the groups alone") {
  // Each rank of a group has the group's 32 tokens: one part of 32*8 KiB to the other group and one back, the routing
  // (8 experts of 8 B per token) beside; then the group adds up its quarter sums.
  CHECK(qwen({.dpa = 2, .tp = 4, .moe_tp = 8}, kDecode) ==
        Lines{"all_reduce attention_out over 4: 393216", "all_gather ffn_in over 2: 262144",
              "all_gather routing over 2: 2048", "reduce_scatter experts_out over 2: 262144",
              "all_reduce experts_out over 4: 393216"});
}

TEST_CASE("Attention groups of a dense model with narrow FFNs send nothing between groups") {
  CHECK(llama({.dpa = 2, .tp = 4, .dense_tp = 4}, kDecode) ==
        Lines{"all_reduce attention_out over 4: 786432", "all_reduce ffn_out over 4: 786432"});
}

Lines end_lines(StepGraph StageGraphs::*end, const ParallelConfig& config) {
  const ModelSpec model = load_model("llama-3.1-70b");
  const LoweredModel lowered = lower_model(model, config, default_formats(model));
  return collective_lines(lowered.forms.front().*end, kDecode, config);
}

TEST_CASE("The vocabulary is split: lookups are added, logits gathered for sampling") {
  // Embedding 2*(3/4)*64*8192*2; logits in fp32, 3 parts of 64*128256/4*4 B.
  CHECK(end_lines(&StageGraphs::embedding, {.tp = 4}) == Lines{"all_reduce embedded over 4: 1572864"});
  CHECK(end_lines(&StageGraphs::head, {.tp = 4}) == Lines{"all_gather logits over 4: 24625152"});
}

TEST_CASE("A pipeline sends the residual stream once per boundary, as it lies") {
  // Replicated over TP, every rank sends T*D*b = 1 MiB to its like; split over 8 ranks, each an eighth.
  CHECK(end_lines(&StageGraphs::boundary, {.pp = 2, .tp = 4}) == Lines{"send x over 2: 1048576"});
  CHECK(end_lines(&StageGraphs::boundary, {.pp = 2, .dpa = 2, .tp = 4}) == Lines{"send x over 2: 131072"});
}

}  // namespace
}  // namespace shardplan
