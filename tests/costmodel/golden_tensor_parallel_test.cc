// Worked examples of tensor parallelism, each through the lowering and the readers of the step graph.
#include <nlohmann/json.hpp>

#include "costmodel/traffic.h"
#include "costmodel/work.h"
#include "models/catalog.h"
#include "tests/costmodel/golden_case.h"
#include "tests/costmodel/held_shards.h"
#include "tests/costmodel/made_models.h"
#include "tests/costmodel/setup.h"

namespace shardplan {
namespace {

TEST_CASE("TP 8 all-reduces 512 KiB twice per layer of Qwen3-235B") {
  // message T*D*b = 64*4096*2; a ring sends 2*(8-1)/8 of it; 94 layers with two all-reduces each.
  const GoldenCase golden("tp-allreduce-bytes");
  const Setup setup(load_model("qwen3-235b-a22b"), {.tp = 8, .moe_tp = 8}, load_hardware("h200-sxm"));
  const StepBreakdown step = setup.breakdown({.decode_sequences = 64, .decode_context = 1024});
  double sent_per_step = 0;
  for (const char* name : {"attention_out", "experts_out"}) {
    const CollectiveRow& row = collective_row(step, name, "all_reduce");
    CHECK(row.count == 94);
    CHECK(row.message_bytes == golden.near("message_bytes", 524288));
    CHECK(row.sent_bytes_per_rank == golden.near("ring_sent_bytes_per_rank", 917504));
    sent_per_step += row.sent_bytes_per_rank * static_cast<double>(row.count);
  }
  CHECK(sent_per_step == golden.near("sent_bytes_per_rank_per_step", 172490752));
}

TEST_CASE("The speed of light of that all-reduce is 2.04 us on H200") {
  // 917,504 B over 450 GB/s, one direction.
  const GoldenCase golden("tp-allreduce-sol", 0.001);
  const Setup setup(load_model("qwen3-235b-a22b"), {.tp = 8, .moe_tp = 8}, load_hardware("h200-sxm"));
  const StepBreakdown step = setup.breakdown({.decode_sequences = 64, .decode_context = 1024});
  CHECK(collective_row(step, "attention_out", "all_reduce").time.value() == golden.near("seconds", 2.0389e-06));
}

TEST_CASE("80 layers of width 8192 reduce 80 MiB per step, 1.75 times that on the wire") {
  const GoldenCase golden("tp-step-bytes-80-layers");
  const Setup setup(load_model("llama-3.1-70b"), {.tp = 8}, load_hardware("h200-sxm"));
  const StepBreakdown step = setup.breakdown({.decode_sequences = 32, .decode_context = 1024});
  double logical = 0;
  for (const char* name : {"attention_out", "ffn_out"}) {
    const CollectiveRow& row = collective_row(step, name, "all_reduce");
    CHECK(row.message_bytes == golden.near("message_bytes", 524288));
    CHECK(row.sent_bytes_per_rank / row.message_bytes == golden.near("ring_factor", 1.75));
    logical += row.message_bytes * static_cast<double>(row.count);
  }
  CHECK(logical == golden.near("logical_bytes_per_step", 83886080));
}

ModelSpec four_kv_heads() {
  return made_model({.hidden = 4096,
                     .vocab = 32000,
                     .layers = 8,
                     .attention = grouped_attention(32, 4, 128),
                     .ffn = dense_ffn(8192)});
}

TEST_CASE("TP 8 copies each of 4 KV heads twice, and DPA 2 x TP 4 holds twice the requests") {
  const GoldenCase golden("kv-head-replication");
  const Setup wide(four_kv_heads(), {.tp = 8}, load_hardware("h100-sxm"));
  const StepGraph& layer = wide.lowered().forms.front().layers.front();
  const auto q = held_by_rank(layer, "w_q", Dim::kHeads);
  const auto kv = held_by_rank(layer, "cache_k", Dim::kKvHeads);
  std::int64_t copies = 0;
  for (std::size_t rank = 0; rank < 8; ++rank) {
    CHECK(std::ssize(q[rank]) == golden.count("q_heads_per_rank", 4));
    CHECK(std::ssize(kv[rank]) == golden.count("kv_heads_per_rank", 1));
    CHECK(kv[rank].front() == q[rank].front() / 8);  // each query head with its KV head
    copies += kv[rank].front() == 0 ? 1 : 0;
  }
  CHECK(copies == golden.count("kv_copies", 2));

  // With the same pool on every rank: one group of 8 against two groups of 4.
  const MemoryDemand demand{.largest_step = {.decode_sequences = 8, .decode_context = 1024}, .request_tokens = 4096};
  Ledger one = wide.ledger({}, demand);
  Ledger two = Setup(four_kv_heads(), {.dpa = 2, .tp = 4}, load_hardware("h100-sxm")).ledger({}, demand);
  one.stages.front().kv_pool_bytes = two.stages.front().kv_pool_bytes = Bytes(20 * kGiB);
  CHECK(two.request_capacity(4096) == golden.count("capacity_ratio_dpa2_tp4_over_tp8", 2) * one.request_capacity(4096));
}

// y = (x W1) W2 with x [tokens, 8], W1 [8 -> 8], W2 [8 -> 4].
LogicalGraph linear_pair() {
  const NumberFormat* bf16 = find_format("bf16");
  const auto tensor = [&](const char* name, Lifetime lifetime, DimList dims) {
    Tensor made{.name = name, .part = Part::kDenseFfn, .lifetime = lifetime, .dims = dims, .format = bf16};
    if (lifetime == Lifetime::kWeight) made.output_dims = {made.dims.front().dim};
    return made;
  };
  LogicalGraph graph;
  const TensorId x = graph.add(tensor("x", Lifetime::kActivation, {{Dim::kTokens}, {Dim::kHidden, 8}}));
  const TensorId w1 = graph.add(tensor("w1", Lifetime::kWeight, {{Dim::kFfn, 8}, {Dim::kHidden, 8}}));
  const TensorId w2 = graph.add(tensor("w2", Lifetime::kWeight, {{Dim::kQueryLatent, 4}, {Dim::kFfn, 8}}));
  const TensorId middle = graph.add(tensor("middle", Lifetime::kActivation, {{Dim::kTokens}, {Dim::kFfn, 8}}));
  const TensorId y = graph.add(tensor("y", Lifetime::kActivation, {{Dim::kTokens}, {Dim::kQueryLatent, 4}}));
  graph.op({.kind = OpKind::kMatmul, .name = "first", .inputs = {x}, .weights = {w1}, .outputs = {middle}});
  graph.op({.kind = OpKind::kMatmul, .name = "second", .inputs = {middle}, .weights = {w2}, .outputs = {y}});
  graph.residual_in = x;
  graph.residual_out = y;
  return graph;
}

TEST_CASE("A pair of linear layers on 4 ranks is column then row, with one all-reduce") {
  const GoldenCase golden("tp4-linear-pair");
  Strategy strategy;
  strategy.mesh = *Mesh::refine(4, {4});
  strategy.rows.push_back({Part::kDenseFfn, "", Dim::kFfn, strategy.mesh.digits_between(1, 4)});
  const StepGraph graph = lower(linear_pair(), strategy, StepForm::kDecode);
  const auto shard = [&](const char* name, Dim in, Dim out) {
    return Json({held_by_rank(graph, name, in)[0].size(), held_by_rank(graph, name, out)[0].size()});
  };
  CHECK(shard("w1", Dim::kHidden, Dim::kFfn) == golden.list("w1_shard", "[8, 2]"));
  CHECK(shard("w2", Dim::kFfn, Dim::kQueryLatent) == golden.list("w2_shard", "[2, 4]"));
  CHECK(golden.count("all_reduces", 1) == 1);
  const BatchShape shape{.decode_sequences = 1, .decode_context = 1};
  CHECK(collective_lines(graph, shape, {}) == std::vector<std::string>{"all_reduce y over 4: 12"});  // 2*3/4 of 8 B
}

}  // namespace
}  // namespace shardplan
