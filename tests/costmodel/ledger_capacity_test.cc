// Blocks, windows and bounds of the cache that a ledger leaves.
#include <rapidcheck.h>

#include <algorithm>

#include "base/units.h"
#include "models/catalog.h"
#include "tests/catch.h"
#include "tests/costmodel/any_config.h"
#include "tests/costmodel/made_models.h"
#include "tests/costmodel/setup.h"

namespace shardplan {
namespace {

// Nothing beside weights, activations and cache; all of the device.
EngineMemory bare_engine(std::int64_t block_size = 16) {
  return {.memory_fraction_ratio = 1,
          .block_size = block_size,
          .context = Bytes(0),
          .communicators = Bytes(0),
          .graphs = Bytes(0)};
}

// A device with room for exactly `pool` bytes of cache beside the model.
Ledger with_pool(const ModelSpec& model, Bytes pool, std::int64_t block_size = 16) {
  const MemoryDemand demand{.largest_step = {.prefill_sequences = 1, .prefill_tokens = 64}, .request_tokens = 16};
  HardwareProfile hardware = load_hardware("h100-sxm");
  hardware.device.reserved = Bytes(0);
  const StageLedger used = Setup(model, {}, hardware).ledger(bare_engine(block_size), demand).stages.front();
  hardware.device.memory = used.weights_bytes + used.activation_bytes + pool;
  return Setup(model, {}, hardware).ledger(bare_engine(block_size), demand);
}

ModelSpec one_layer() {
  return made_model({.hidden = 64, .attention = grouped_attention(4, 4, 16), .ffn = dense_ffn(128)});
}

TEST_CASE("Room for exactly N blocks holds N blocks") {
  // 2*4*16*2 = 256 B per token. Blocks of 24 (as of 8 tokens on 3 ranks of a DCP group) are no power of two.
  for (const std::int64_t block : {16, 24}) {
    for (std::int64_t blocks = 1; blocks < 100; ++blocks) {
      INFO(blocks << " blocks of " << block);
      REQUIRE(with_pool(one_layer(), Bytes(blocks * block * 256), block).group_capacity_tokens == blocks * block);
      REQUIRE(with_pool(one_layer(), Bytes((blocks + 1) * block * 256 - 1), block).group_capacity_tokens ==
              blocks * block);
    }
  }
}

TEST_CASE("A request takes whole blocks") {
  const Ledger ledger = with_pool(one_layer(), Bytes(100 * 4096));
  CHECK(ledger.request_capacity(16) == 100);
  CHECK(ledger.request_capacity(17) == 50);
  CHECK(ledger.request_capacity(33) == 33);
  CHECK(ledger.request_capacity(1600) == 1);
  CHECK(ledger.request_capacity(1601) == 0);
}

TEST_CASE("Layers with a window hold the window and one block of a long request") {
  // gpt-oss-20b: 12 layers with a window of 128 and 12 without, 2*8*64*2 = 2,048 B per token and layer.
  const ModelSpec model = load_model("gpt-oss-20b");
  Ledger ledger =
      Setup(model, {}, load_hardware("h100-sxm"))
          .ledger({}, {.largest_step = {.decode_sequences = 1, .decode_context = 1}, .request_tokens = 8192});
  const std::int64_t request = 12 * 2048 * 8192 + 12 * 2048 * (128 + 16);
  ledger.stages.front().kv_pool_bytes = Bytes(10 * request);
  CHECK(ledger.request_capacity(8192) == 10);
  ledger.stages.front().kv_pool_bytes = Bytes(10 * request - 1);
  CHECK(ledger.request_capacity(8192) == 9);
  ledger.stages.front().kv_pool_bytes = Bytes(24 * 2048 * 128);
  CHECK(ledger.request_capacity(128) == 1);  // within the window nothing is saved
}

TEST_CASE("Under DCP a block covers as many tokens on every rank of the group") {
  const ModelSpec model = made_model({.hidden = 64, .attention = grouped_attention(8, 4, 16), .ffn = dense_ffn(128)});
  const Setup setup(model, {.tp = 8, .dcp = 4}, load_hardware("h100-sxm"));
  CHECK(setup.ledger({}, {.largest_step = {.decode_sequences = 1, .decode_context = 1}, .request_tokens = 1})
            .block_tokens == 64);
}

TEST_CASE("The stage with the least cache sets the capacity of all") {
  // 3 layers over 2 stages: the first holds 2 of them.
  const ModelSpec model =
      made_model({.hidden = 64, .layers = 3, .attention = grouped_attention(4, 4, 16), .ffn = dense_ffn(128)});
  const MemoryDemand demand{.largest_step = {.decode_sequences = 1, .decode_context = 1}, .request_tokens = 1024};
  const Ledger ledger = Setup(model, {.pp = 2}, load_hardware("h100-sxm")).ledger({}, demand);
  const auto tokens = [&](std::size_t s) {
    return ledger.stages[s].kv_pool_bytes.value() / static_cast<std::int64_t>(ledger.stages[s].kv_bytes_per_token);
  };
  CHECK(tokens(0) < tokens(1));
  CHECK(ledger.kv_capacity_tokens == tokens(0) / 16 * 16);
}

TEST_CASE("A request too long is refused with the pool of the stage that lacks room") {
  // The second stage holds 2 of 3 layers: 512 B of cache per token, the first 256.
  const ModelSpec model =
      made_model({.hidden = 64, .layers = 3, .attention = grouped_attention(4, 4, 16), .ffn = dense_ffn(128)});
  HardwareProfile hardware = load_hardware("h100-sxm");
  hardware.device.memory = Bytes(40'000'000);
  hardware.device.reserved = Bytes(0);
  const ParallelConfig config{.pp = 2, .pp_layers = {1, 2}};
  const MemoryDemand demand{.largest_step = {.decode_sequences = 1, .decode_context = 1}, .request_tokens = 100'000};
  const Ledger ledger = Setup(model, config, hardware).ledger(bare_engine(), demand);
  CHECK_FALSE(ledger.fits);
  CHECK(ledger.request_capacity(70'000) == 1);
  CHECK(ledger.misfit.find(format_bytes(ledger.stages[1].kv_pool_bytes)) != std::string::npos);
}

// Cache bytes of one request on a rank of a stage, by the rule in words: whole blocks, of a window those that it can reach into.
double request_bytes(const Ledger& ledger, std::size_t stage, std::int64_t tokens) {
  double bytes = 0;
  for (const Ledger::CacheTerm& term : ledger.cache_terms[stage]) {
    const std::int64_t held = term.window > 0 ? std::min(tokens, term.window - 1 + ledger.block_tokens) : tokens;
    bytes += static_cast<double>(ceil_div(held, ledger.block_tokens) * ledger.block_tokens) * term.bytes_per_token;
  }
  return bytes;
}

TEST_CASE(
    "Cache blocks and everything else fit into the fraction of memory on every stage, and one request more would not") {
  const auto models = small_family_models();
  CHECK(rc::check([&] {
    const ModelSpec& model = *rc::gen::elementOf(models);
    const ParallelConfig config = any_config(model);
    HardwareProfile hardware = load_hardware("h100-sxm");
    hardware.device.memory = Bytes(any_of(1, 200) * 100'000);
    hardware.device.reserved = Bytes(0);
    const std::int64_t tokens = any_of(1, 300);
    EngineMemory engine = bare_engine();
    engine.memory_fraction_ratio = static_cast<double>(any_of(50, 100)) / 100;
    engine.context = Bytes(any_of(0, 100'000));
    const Setup setup(model, config, lowered_or_discard(model, config), hardware, PriceMode::kSpeedOfLight);
    const Ledger ledger = setup.ledger(
        engine, {.largest_step = {.decode_sequences = any_of(1, 32), .decode_context = 64}, .request_tokens = tokens});
    RC_ASSERT(ledger.fits == ledger.misfit.empty());
    RC_PRE(ledger.fits);
    const auto each = static_cast<double>(ledger.request_capacity(tokens) / config.dpa);
    bool tight = false;
    for (std::size_t s = 0; s < ledger.stages.size(); ++s) {
      const StageLedger& stage = ledger.stages[s];
      const auto others =
          static_cast<double>((stage.weights_bytes + stage.activation_bytes + stage.workspace_bytes).value());
      const auto memory = static_cast<double>(hardware.device.memory.value()) * engine.memory_fraction_ratio;
      RC_ASSERT(each * request_bytes(ledger, s, tokens) + others <= memory);
      tight = tight || (each + 1) * request_bytes(ledger, s, tokens) + others > std::floor(memory);
    }
    RC_ASSERT(each >= 1);
    RC_ASSERT(tight);
  }));
}

}  // namespace
}  // namespace shardplan
