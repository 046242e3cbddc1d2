// Golden list of the collectives of decode and prefill context parallelism and of Helix; see
// tensor_parallel_collectives_test.cc for what the lines say.
#include <algorithm>

#include "costmodel/traffic.h"
#include "models/catalog.h"
#include "tests/catch.h"
#include "tests/costmodel/setup.h"

namespace shardplan {
namespace {

using Lines = std::vector<std::string>;

constexpr BatchShape kDecode{.decode_sequences = 64, .decode_context = 32768};
constexpr BatchShape kPrompt{.prefill_sequences = 1, .prefill_tokens = 32768};

ModelSpec qwen() { return load_model("qwen3-235b-a22b"); }
ModelSpec llama() { return load_model("llama-3.1-70b"); }

Lines with_reductions(Lines lines) {
  lines.insert(lines.end(), {"all_reduce attention_out over 8: 917504", "all_reduce experts_out over 8: 917504"});
  return lines;
}

ParallelConfig dcp2(DcpComm comm, bool q_replicate = false) {
  ParallelConfig config{.tp = 8, .dcp = 2, .moe_tp = 8};
  config.variant.dcp_comm = comm;
  config.variant.q_replicate = q_replicate;
  return config;
}

// f = 1/2, M_Q = M_O = 64*(64*2/8)*128*2 = 262,144, M_L = 64*16*4 = 4,096.
TEST_CASE("DCP by all-gather and reduce-scatter sends f*(M_Q+M_O) + (CP-1)*M_L") {
  CHECK(layer_collectives(qwen(), dcp2(DcpComm::kAgRs), kDecode) ==
        with_reductions({"all_gather q_decode over 2: 131072", "lse_gather o_decode over 2: 4096",
                         "reduce_scatter o_decode over 2: 131072"}));
}

TEST_CASE("DCP by all-to-all sends f*(M_Q+M_O+M_L) in two collectives") {
  CHECK(layer_collectives(qwen(), dcp2(DcpComm::kA2a), kDecode) ==
        with_reductions({"all_gather q_decode over 2: 131072", "lse_exchange o_decode over 2: 133120"}));
}

TEST_CASE("Q-replicate drops f*M_Q") {
  CHECK(layer_collectives(qwen(), dcp2(DcpComm::kAgRs, true), kDecode) ==
        with_reductions({"lse_gather o_decode over 2: 4096", "reduce_scatter o_decode over 2: 131072"}));
  CHECK(layer_collectives(qwen(), dcp2(DcpComm::kA2a, true), kDecode) ==
        with_reductions({"lse_exchange o_decode over 2: 133120"}));
}

TEST_CASE("Helix sends f*(M_O+M_L) in one collective, and nothing more in prefill") {
  ParallelConfig config = dcp2(DcpComm::kAgRs);
  config.variant.helix = true;
  CHECK(layer_collectives(qwen(), config, kDecode) == with_reductions({"lse_exchange o_decode over 2: 133120"}));
  CHECK(layer_collectives(qwen(), config, kPrompt) ==
        Lines{"all_reduce attention_out over 8: 469762048", "all_reduce experts_out over 8: 469762048"});
}

TEST_CASE("The worked example of TP 8, DCP 2 has an all-reduce message of 512 KiB") {
  // 64*4096*2; Q, LSE and O as in the first test: 128 KiB, 4 KiB, 128 KiB sent.
  const LoweredModel lowered = lower_model(qwen(), dcp2(DcpComm::kAgRs), default_formats(qwen()));
  const StepGraph& layer = lowered.forms.front().layers.front();
  for (const Node& node : layer.nodes) {
    if (node.kind != NodeKind::kAllReduce) continue;
    const TrafficForm form = traffic_form(layer, node, nullptr);
    CHECK(form.message_ratio * evaluate(form.symbol, kDecode) == 512 * 1024);
  }
}

TEST_CASE("A prompt that continues a cached prefix gathers the prefix's stripes under DCP") {
  // K and V each: 4096/2 positions of one head of 128, to one peer.
  const BatchShape chunk{.prefill_sequences = 1, .prefill_tokens = 4096, .prefill_prefix = 4096};
  CHECK(layer_collectives(qwen(), dcp2(DcpComm::kAgRs), chunk) ==
        Lines{"all_gather prefix_k over 2: 524288", "all_gather prefix_v over 2: 524288",
              "all_reduce attention_out over 8: 58720256", "all_reduce experts_out over 8: 58720256"});
}

TEST_CASE("MLA under DCP 8 gathers absorbed queries of 576 columns and scatters outputs of 512") {
  // 7 parts of 16 heads: 64*16*576*2 and 64*16*512*2; LSE 7 * 64*128*4.
  CHECK(layer_collectives(load_model("deepseek-v3"), {.tp = 8, .dcp = 8, .moe_tp = 8}, kDecode) ==
        Lines{"all_gather q_latent over 8: 8257536", "lse_gather o_latent over 8: 229376",
              "reduce_scatter o_latent over 8: 7340032", "all_reduce attention_out over 8: 1605632",
              "all_reduce ffn_out over 8: 1605632"});
}

ParallelConfig pcp2(PcpComm comm) {
  ParallelConfig config{.pcp = 2, .tp = 4};
  config.variant.pcp_comm = comm;
  return config;
}

// Llama at TP 4, PCP 2: a rank has 16,384 tokens, 16 query and 2 KV heads; the all-reduce 2*(3/4)*16,384*8192*2.
const Lines kLlamaReductions{"all_reduce attention_out over 4: 402653184", "all_reduce ffn_out over 4: 402653184"};

Lines before_llama_reductions(Lines lines) {
  lines.insert(lines.end(), kLlamaReductions.begin(), kLlamaReductions.end());
  return lines;
}

TEST_CASE("Prefill rings send the local block of K and V, 2*(S/CP)*(h_kv/TP)*d*b per hop") {
  CHECK(layer_collectives(llama(), pcp2(PcpComm::kRing), kPrompt) ==
        before_llama_reductions({"ring_attention q_prefill over 2: 16777216"}));
}

TEST_CASE("Gathering K and V sends the same bytes as the ring") {
  CHECK(layer_collectives(llama(), pcp2(PcpComm::kAllGather), kPrompt) ==
        before_llama_reductions({"all_gather k_prefill over 2: 8388608", "all_gather v_prefill over 2: 8388608"}));
}

TEST_CASE("All-to-all exchanges positions for heads and back") {
  // Half of 16 query heads and of 2 KV heads to the peer; K and V come whole for the cache, which every PCP rank has.
  CHECK(layer_collectives(llama(), pcp2(PcpComm::kAllToAll), kPrompt) ==
        before_llama_reductions({"all_to_all q_prefill over 2: 33554432", "all_to_all k_prefill over 2: 4194304",
                                 "all_to_all v_prefill over 2: 4194304", "all_gather k_prefill over 2: 8388608",
                                 "all_gather v_prefill over 2: 8388608", "all_to_all o_prefill over 2: 33554432"}));
}

TEST_CASE("Decode after context-parallel prefill repeats on every PCP rank") {
  CHECK(layer_collectives(llama(), pcp2(PcpComm::kRing), kDecode) ==
        Lines{"all_reduce attention_out over 4: 1572864", "all_reduce ffn_out over 4: 1572864"});
}

TEST_CASE("A cache striped over PCP merges partial outputs on every rank") {
  // W_O is replicated over PCP: O is all-reduced, 2*(1/2)*64*16*128*2, LSE 64*16*4 beside.
  ParallelConfig config = pcp2(PcpComm::kRing);
  config.dcp = 2;
  CHECK(layer_collectives(llama(), config, kDecode) ==
        Lines{"lse_gather o_decode over 2: 4096", "all_reduce o_decode over 2: 262144",
              "all_reduce attention_out over 4: 1572864", "all_reduce ffn_out over 4: 1572864"});
}

TEST_CASE("The list sees a wasteful table: DCP as the outer digit of the heads") {
  // TP 8 as digits (4, 2) with DCP inside; the mutant has digits (2, 4) with DCP outside. Its graph is right, but a
  // rank's heads before and after attention are no longer a tail edit of those that W_Q and W_O split: one collective
  // more, and 7 times the bytes around attention.
  const ModelSpec model = llama();
  const ParallelConfig config{.tp = 8, .dcp = 2};
  const LogicalGraph layer = layer_graph(model, model.kinds.front(), StepForm::kDecode, default_formats(model));
  const Strategy good = build_strategy(model, config, StepForm::kDecode);
  Strategy bad = good;
  bad.mesh = *Mesh::refine(8, {4});
  for (PlaceRow& row : bad.rows) {
    if (row.layout == Layout::kStriped) row.digits = bad.mesh.digits_between(4, 8);
    if (row.dim == Dim::kKvHeads) row.digits = bad.mesh.digits_between(1, 4);
  }
  const Lines golden = collective_lines(lower(layer, good, StepForm::kDecode), kDecode, config);
  CHECK(golden == Lines{"all_gather q_decode over 2: 131072", "lse_gather o_decode over 2: 4096",
                        "reduce_scatter o_decode over 2: 131072", "all_reduce attention_out over 8: 1835008",
                        "all_reduce ffn_out over 8: 1835008"});
  CHECK(collective_lines(lower(layer, bad, StepForm::kDecode), kDecode, config) ==
        Lines{"all_gather q_decode over 8: 917504", "lse_gather o_decode over 2: 4096",
              "all_reduce o_decode over 2: 262144", "all_gather o_decode over 4: 786432",
              "all_reduce attention_out over 8: 1835008", "all_reduce ffn_out over 8: 1835008"});
}

}  // namespace
}  // namespace shardplan
