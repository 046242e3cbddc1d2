// What holds for any model: counts add up, scale with the layers, and formats only change bytes.
#include <fmt/format.h>
#include <rapidcheck.h>

#include "tests/catch.h"
#include "tests/models/small_configs.h"

namespace shardplan {
namespace {

struct Sizes {
  std::int64_t hidden, layers, kv_heads, group, head_dim, experts, per_token;
};

Sizes any_sizes() {
  const auto in = [](std::int64_t low, std::int64_t high) { return *rc::gen::inRange(low, high); };
  const std::int64_t experts = in(1, 65);
  return {in(1, 33) * 16, in(1, 40), in(1, 9), in(1, 9), in(1, 9) * 16, experts, in(1, experts + 1)};
}

ModelSpec qwen_moe(const Sizes& s) {
  return read_small(fmt::format(
      R"({{"model_type": "qwen3_moe", "hidden_size": {}, "num_hidden_layers": {}, "num_key_value_heads": {},
          "num_attention_heads": {}, "head_dim": {}, "num_experts": {}, "num_experts_per_tok": {},
          "moe_intermediate_size": 48, "vocab_size": 100}})",
      s.hidden, s.layers, s.kv_heads, s.kv_heads * s.group, s.head_dim, s.experts, s.per_token));
}

TEST_CASE("Layers cost the same one by one as together") {
  CHECK(rc::check([] {
    Sizes sizes = any_sizes();
    const auto total = [](const Sizes& s) { return count_parameters(qwen_moe(s)).total(); };
    const std::int64_t before = total(sizes);
    sizes.layers += 1;
    const std::int64_t one_more = total(sizes);
    sizes.layers += 1;
    RC_ASSERT(total(sizes) - one_more == one_more - before);
  }));
}

TEST_CASE("Active parameters are at most all, and all when every expert is used") {
  CHECK(rc::check([] {
    Sizes sizes = any_sizes();
    const ModelSpec model = qwen_moe(sizes);
    RC_ASSERT(count_active_parameters(model) <= count_parameters(model).total());
    sizes.per_token = sizes.experts;
    const ModelSpec full = qwen_moe(sizes);
    RC_ASSERT(count_active_parameters(full) == count_parameters(full).total());
  }));
}

TEST_CASE("bf16 weights take two bytes per parameter, narrower formats less, and no format changes a count") {
  CHECK(rc::check([] {
    ModelSpec model = qwen_moe(any_sizes());
    const std::int64_t parameters = count_parameters(model).total();
    RC_ASSERT(weight_bytes(model).value() == 2 * parameters);
    override_weight_format(model, require_format("fp8", "test"));
    RC_ASSERT(weight_bytes(model).value() < 2 * parameters);
    RC_ASSERT(count_parameters(model).total() == parameters);
  }));
}

TEST_CASE("The cache follows KV heads and layers, and query heads not at all") {
  CHECK(rc::check([] {
    Sizes sizes = any_sizes();
    const NumberFormat& bf16 = require_kv_format("bf16", "test");
    const Bytes cache = cache_bytes_per_token(qwen_moe(sizes), bf16);
    RC_ASSERT(cache.value() == sizes.layers * 2 * sizes.kv_heads * sizes.head_dim * 2);
    sizes.group += 1;
    RC_ASSERT(cache_bytes_per_token(qwen_moe(sizes), bf16) == cache);
  }));
}

}  // namespace
}  // namespace shardplan
