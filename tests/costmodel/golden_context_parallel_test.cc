// Worked examples of prefill and decode context parallelism and of Helix, through lowering and pricing.
#include <nlohmann/json.hpp>

#include "costmodel/causal_load.h"
#include "costmodel/index_sets.h"
#include "models/catalog.h"
#include "tests/costmodel/golden_case.h"
#include "tests/costmodel/made_models.h"
#include "tests/costmodel/setup.h"

namespace shardplan {
namespace {

constexpr BatchShape kPrompt{.prefill_sequences = 1, .prefill_tokens = 32768};
constexpr BatchShape kDecode{.decode_sequences = 64, .decode_context = 32768};

ParallelConfig pcp2(PcpComm comm) {
  ParallelConfig config{.pcp = 2, .tp = 4, .moe_tp = 8};
  config.variant.pcp_comm = comm;
  return config;
}

StepBreakdown unmasked_prefill(const ParallelConfig& config) {
  const ModelSpec model = load_model("qwen3-235b-a22b");
  const Setup setup(model, config, lower_without_mask(model, config), load_hardware("h200-sxm"),
                    PriceMode::kSpeedOfLight);
  return setup.breakdown(kPrompt);
}

StepBreakdown decode_step(const ParallelConfig& config) {
  return Setup(load_model("qwen3-235b-a22b"), config, load_hardware("h200-sxm")).breakdown(kDecode);
}

double projection_flops(const StepBreakdown& step) {
  return op_row(step, "qkv").flops.value() + op_row(step, "o_proj").flops.value();
}

double attention_layer_seconds(const StepBreakdown& step) {
  return (op_row(step, "qkv").time + op_row(step, "attention_prefill").time + op_row(step, "o_proj").time).value();
}

TEST_CASE("A prompt of 32k at TP 4 takes 10 ms per attention layer") {
  // attention 4*S^2*h_q*d/4, projections 2*S*D*(2*h_q + 2*h_kv)*d/4, both at 989 TFLOP/s; KV 2*S*1*128*2 B.
  const GoldenCase golden("pcp-off", 0.001);
  const StepBreakdown step = unmasked_prefill({.tp = 4, .moe_tp = 4});
  CHECK(op_row(step, "attention_prefill").flops.value() == golden.near("attention_flops", 8796000000000.0));
  CHECK(projection_flops(step) == golden.near("projection_flops", 1168000000000.0));
  CHECK(op_row(step, "attention_prefill").kv_bytes == golden.near("kv_bytes_per_layer", 16777216));
  CHECK(attention_layer_seconds(step) == golden.near("seconds", 0.01008));
}

TEST_CASE("PCP 2 as a ring halves that, and its hop of 8 MiB hides behind attention") {
  const GoldenCase golden("pcp-2", 0.001);
  const StepBreakdown step = unmasked_prefill(pcp2(PcpComm::kRing));
  const CollectiveRow& ring = collective_row(step, "q_prefill", "ring_attention");
  CHECK(op_row(step, "attention_prefill").flops.value() == golden.near("attention_flops", 4398000000000.0));
  CHECK(ring.message_bytes == golden.near("ring_hop_bytes", 8388608));  // the block a rank owns: its part of the KV
  CHECK(ring.message_bytes == golden.near("kv_bytes_per_layer", 8388608));
  CHECK(ring.time.value() == golden.near("ring_hop_seconds", 1.864e-05));
  CHECK(attention_layer_seconds(step) == golden.near("seconds", 0.00504));
  // Hidden: what is exposed are the other collectives.
  const double others = (step.time.communication - ring.time * static_cast<double>(ring.count)).value();
  CHECK(step.time.exposed_communication.value() == Approx(others));
}

TEST_CASE("Decode at TP 4 reads 1 GiB of cache per layer in 224 us") {
  // FLOPs 4*B*S*(h_q/4)*d; KV 2*B*S*1*128*2 B at 4.8 TB/s.
  const GoldenCase golden("dcp-off", 0.001);
  const OpRow attention = op_row(decode_step({.tp = 4, .moe_tp = 4}), "attention_decode");
  const HardwareProfile h200 = load_hardware("h200-sxm");
  CHECK(attention.flops.value() == golden.near("attention_flops", 17180000000.0));
  CHECK(attention.kv_bytes == golden.near("kv_bytes_per_layer", 1073741824));
  CHECK((attention.flops / h200.device.peak[0]).value() == golden.near("compute_seconds", 1.737e-05));
  CHECK(attention.kv_bytes / h200.device.memory_bandwidth.value() == golden.near("kv_read_seconds", 0.0002237));
  // The price adds Q and O, read and written: 2 * 64*16*128*2 B, 0.05 % of the cache.
  CHECK(attention.time.value() == Approx((1073741824.0 + 2 * 64 * 16 * 128 * 2) / 4.8e12));
}

TEST_CASE("DCP 2 halves the cache read and sends 256 KiB, with 4 KiB of log-sum-exp beside") {
  // f*(M_Q + M_O) with f = 1/2, M_Q = M_O = 64*16*128*2 = 262,144; LSE (CP-1)*64*16*4 = 4,096.
  const GoldenCase golden("dcp-2-ag-rs", 0.001);
  const StepBreakdown step = decode_step({.tp = 8, .dcp = 2, .moe_tp = 8});
  const OpRow& attention = op_row(step, "attention_decode");
  const HardwareProfile h200 = load_hardware("h200-sxm");
  CHECK(attention.flops.value() == golden.near("attention_flops", 8590000000.0));
  CHECK(attention.kv_bytes == golden.near("kv_bytes_per_layer", 536870912));
  CHECK((attention.flops / h200.device.peak[0]).value() == golden.near("compute_seconds", 8.69e-06));
  CHECK(attention.kv_bytes / h200.device.memory_bandwidth.value() == golden.near("kv_read_seconds", 0.00011185));

  const CollectiveRow& q = collective_row(step, "q_decode", "all_gather");
  const CollectiveRow& o = collective_row(step, "o_decode", "reduce_scatter");
  const CollectiveRow& lse = collective_row(step, "o_decode", "lse_gather");
  CHECK(q.sent_bytes_per_rank + o.sent_bytes_per_rank == golden.near("sent_bytes_per_rank", 262144));
  CHECK((q.time + o.time).value() == golden.near("sent_seconds", 5.825e-07));
  CHECK(lse.sent_bytes_per_rank == 4096);
  CHECK(lse.lse_bytes == 4096);
}

TEST_CASE("Zigzag, striped and contiguous layouts give the published pairs and positions") {
  const auto pairs = [](Layout layout) {
    Json counts = Json::array();
    for (int rank = 0; rank < 4; ++rank)
      counts.push_back(static_cast<int>(rank_pairs({.layout = layout, .parts = 4, .new_tokens = 32}, rank)));
    return counts;
  };
  CHECK(pairs(Layout::kZigzag) == GoldenCase("zigzag-balance").list("pairs_per_rank", "[132, 132, 132, 132]"));
  CHECK(pairs(Layout::kBlocked) == GoldenCase("causal-contiguous").list("pairs_per_rank", "[36, 100, 164, 228]"));
  CHECK(pairs(Layout::kStriped) == GoldenCase("causal-striped").list("pairs_per_rank", "[120, 128, 136, 144]"));
}

Json positions_on(std::int64_t ranks, std::int64_t tokens, Layout layout, std::int64_t rank) {
  const Mesh mesh = *Mesh::refine(ranks, {ranks});
  const RaggedBatch batch = RaggedBatch::from({.prefill_sequences = 1, .prefill_tokens = tokens});
  const ShardList list{{Dim::kTokens, 0, layout}};
  return held_tokens(mesh, list, batch, batch_tokens(batch, Phase::kAll), 1, rank);
}

TEST_CASE("Each rank of a zigzag holds the published ranges, of a stripe the published positions") {
  const Json ranges =
      GoldenCase("zigzag-balance")
          .list("ranges", "[[[0, 3], [28, 31]], [[4, 7], [24, 27]], [[8, 11], [20, 23]], [[12, 15], [16, 19]]]");
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    Json expected = Json::array();
    for (const Json& range : ranges[static_cast<std::size_t>(rank)]) {
      for (int position = range[0]; position <= range[1].get<int>(); ++position) expected.push_back(position);
    }
    CHECK(positions_on(4, 32, Layout::kZigzag, rank) == expected);
  }
  const Json striped = GoldenCase("striped-positions").list("positions", "[[0, 2, 4, 6], [1, 3, 5, 7]]");
  CHECK(positions_on(2, 8, Layout::kStriped, 0) == striped[0]);
  CHECK(positions_on(2, 8, Layout::kStriped, 1) == striped[1]);
}

TEST_CASE("A contiguous ring over 8 ranks is 53 % efficient") {
  // P/(2P-1): mean pairs over what the synchronous ring waits for, and over the busiest rank's.
  const GoldenCase golden("contiguous-ring-efficiency", 0.001);
  const CausalTask task{.layout = Layout::kBlocked, .parts = 8, .new_tokens = 65536};
  CHECK(total_pairs(task) / 8 / ring_pairs(task) == golden.near("efficiency", 0.53333));
  CHECK(total_pairs(task) / 8 / busiest_pairs(task) == golden.near("efficiency", 0.53333));
}

TEST_CASE("Helix at KVP 1 x TPA 8 reads a million positions of FP4 cache in 128 us") {
  // 2*B*ceil(h_kv/TPA)*d*S/KVP*0.5 B at 8 TB/s.
  const GoldenCase golden("helix-kv-read");
  const NumberFormat half_byte{.name = "half_byte", .bits = 4};
  ModelSpec model = made_model({.hidden = 4096, .attention = grouped_attention(64, 8, 128), .ffn = dense_ffn(8192)});
  model.kv_format = &half_byte;
  HardwareProfile hardware = load_hardware("b200-sxm");
  hardware.device.memory_bandwidth = BytesPerSecond(8e12);
  const Setup setup(model, {.tp = 8}, hardware);
  const OpRow attention =
      op_row(setup.breakdown({.decode_sequences = 8, .decode_context = 1'000'000}), "attention_decode");
  CHECK(attention.kv_bytes / 8e12 == golden.near("seconds_per_layer", 0.000128));
}

TEST_CASE("HOP-B hides all exchanges but one part behind attention") {
  // In 8 parts: off 8*(a+e), on 8*max(a,e) + min(a,e), with a and e one part's attention and exchange.
  ParallelConfig config{.tp = 8, .dcp = 2, .moe_tp = 8};
  config.variant.helix = true;
  const StepBreakdown off = decode_step(config);
  config.variant.hop_b = 8;
  const StepBreakdown on = decode_step(config);
  const double a = op_row(off, "attention_decode").time.value() / 8;
  const double e = collective_row(off, "o_decode", "lse_exchange").time.value() / 8;
  const double saved = 8 * (a + e) - (8 * std::max(a, e) + std::min(a, e));
  CHECK((off.time.seconds - on.time.seconds).value() == Approx(94 * saved));
  CHECK(off.time.communication.value() == Approx(on.time.communication.value()));
}

}  // namespace
}  // namespace shardplan
