// Cache bytes of one token against published figures; several are reports of planners that got it wrong.
#include "models/catalog.h"
#include "tests/catch.h"
#include "tests/models/small_configs.h"

namespace shardplan {
namespace {

Bytes cache(const ModelSpec& model, const char* format) {
  return cache_bytes_per_token(model, require_kv_format(format, "test"));
}

TEST_CASE("DeepSeek-V3 caches one latent of 512 + 64 per layer, not two of 512") {
  // 61 * (512 + 64) * 2 B
  CHECK(cache(load_model("deepseek-v3"), "bf16") == Bytes(70'272));
  CHECK(cache(load_model("deepseek-v3"), "fp8") == Bytes(35'136));
}

TEST_CASE("Llama-3.1-8B caches 8 heads, not 32") {
  // 32 layers * 2 * 8 * 128 * 2 B; with query heads it would be 524,288.
  CHECK(cache(load_model("llama-3.1-8b"), "bf16") == Bytes(131'072));
}

TEST_CASE("Qwen3-235B caches 94 layers of 4 heads") {
  CHECK(cache(load_model("qwen3-235b-a22b"), "bf16") == Bytes(94 * 2 * 4 * 128 * 2));
}

TEST_CASE("An explicit head_dim is believed over hidden / heads") {
  // Qwen3-4B: 2560 / 32 would be 80, and 92,160 B per token.
  const ModelSpec model =
      read_small(R"({"model_type": "qwen3", "hidden_size": 2560, "num_hidden_layers": 36, "head_dim": 128,
      "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 9728, "vocab_size": 151936,
      "tie_word_embeddings": true})");
  CHECK(cache(model, "bf16") == Bytes(147'456));
  CHECK(model.kinds.front().attention.head_dim == 128);
  CHECK(count_parameters(model).total() == 4'022'468'096);
}

TEST_CASE("Without head_dim it is hidden / heads") {
  CHECK(read_small(small_llama()).kinds.front().attention.head_dim == 16);
}

TEST_CASE("A cache in nvfp4 pays for its block scales but for no tensor scale") {
  // per layer and K or V: 8 heads of 128 elements, half a byte each, one scale byte per 16
  CHECK(cache(load_model("llama-3.1-8b"), "nvfp4") == Bytes(32 * 2 * 8 * (64 + 8)));
}

TEST_CASE("Cached elements of one layer") {
  CHECK(cache_elements_per_token(load_model("deepseek-v3").kinds.front().attention) == 576);
  CHECK(cache_elements_per_token(load_model("llama-3.1-8b").kinds.front().attention) == 2048);
}

}  // namespace
}  // namespace shardplan
