// What is peculiar about each family.
#include <algorithm>

#include "models/catalog.h"
#include "models/families/registry.h"
#include "models/weights.h"
#include "tests/base/message_of.h"
#include "tests/catch.h"
#include "tests/models/small_configs.h"

namespace shardplan {
namespace {

std::string with_type(const std::string& type, const std::string& extra = "") {
  return R"({"model_type": ")" + type + R"(", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
             "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 1000)" +
         extra + "}";
}

std::int64_t elements_of(const ModelSpec& model, std::string_view tensor_name) {
  std::int64_t sum = 0;
  for (const WeightTensor& tensor : layer_weights(model.kinds.front(), model.hidden)) {
    if (tensor.name == tensor_name) sum += tensor.elements();
  }
  return sum;
}

TEST_CASE("Every family has a line of help and a type of its own") {
  std::vector<std::string_view> types;
  for (const ModelFamily& family : model_families()) {
    CHECK(!family.help.empty());
    types.insert(types.end(), family.model_types.begin(), family.model_types.end());
  }
  std::sort(types.begin(), types.end());
  CHECK(std::adjacent_find(types.begin(), types.end()) == types.end());
}

TEST_CASE("An unknown family is refused with the nearest one") {
  CHECK_THAT(message_of([] { (void)read_small(with_type("lama")); }), contains_text("such as llama"));
  CHECK_THAT(message_of([] { (void)read_small(R"({"hidden_size": 64})"); }), contains_text("/model_type: is missing"));
}

TEST_CASE("A config without model_type is known by its architecture") {
  const std::string config = R"({"architectures": ["MixtralForCausalLM"], "hidden_size": 64, "num_hidden_layers": 1,
      "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 10,
      "num_local_experts": 8, "num_experts_per_tok": 2})";
  CHECK(read_small(config).family == "mixtral");
}

TEST_CASE("Qwen2 has biases on Q, K and V that its config does not mention") {
  const ModelSpec model = read_small(with_type("qwen2"));
  CHECK(elements_of(model, "q_bias") == 64);
  CHECK(elements_of(model, "k_bias") == 32);
  CHECK(elements_of(model, "o_bias") == 0);
}

TEST_CASE("Qwen3 normalises each head, MiniMax-M2 all heads together") {
  CHECK(elements_of(read_small(with_type("qwen3")), "q_norm") == 16);
  const ModelSpec model = read_small(with_type("minimax_m2", R"(, "num_local_experts": 8, "num_experts_per_tok": 2)"));
  CHECK(elements_of(model, "q_norm") == 64);
  CHECK(elements_of(model, "k_norm") == 32);
  CHECK(elements_of(model, "router_bias") == 8);
}

TEST_CASE("attention_bias of Llama covers the output, mlp_bias the FFN") {
  const ModelSpec model = read_small(with_type("llama", R"(, "attention_bias": true, "mlp_bias": true)"));
  CHECK(elements_of(model, "o_bias") == 64);
  CHECK(elements_of(model, "down_bias") == 64);
  CHECK(elements_of(model, "gate_bias") == 128);
}

TEST_CASE("Qwen uses its window only when told to, and only in late layers") {
  CHECK(!read_small(with_type("qwen3", R"(, "sliding_window": 32, "max_window_layers": 2)")).has_window());
  const ModelSpec model =
      read_small(with_type("qwen3", R"(, "sliding_window": 32, "max_window_layers": 3, "use_sliding_window": true)"));
  CHECK(model.layers == std::vector<int>{0, 0, 0, 1});
  CHECK(model.kinds[1].attention.window == 32);
  CHECK(model.kinds[1].name == "dense_sliding");
}

TEST_CASE("Mistral slides everywhere") {
  CHECK(read_small(with_type("mistral", R"(, "sliding_window": 4096)")).kinds.front().attention.window == 4096);
}

TEST_CASE("gpt-oss alternates sliding and full layers, beginning with sliding") {
  const ModelSpec model = load_model("gpt-oss-20b");
  REQUIRE(model.kinds.size() == 2);
  CHECK(model.kinds[0].attention.window == 128);
  CHECK(model.kinds[1].attention.window == 0);
  CHECK(model.layers_of_kind(0) == 12);
  CHECK(model.kinds[0].attention.sinks);
  CHECK(model.kinds[0].ffn.bias);
}

TEST_CASE("layer_types must name every layer and known types") {
  const auto refusal = [](const std::string& types) {
    return message_of([&] { (void)read_small(with_type("qwen3", R"(, "layer_types": )" + types)); });
  };
  CHECK_THAT(refusal(R"(["full_attention"])"), contains_text("names 1 layers"));
  CHECK_THAT(refusal(R"(["full_attention", "a", "b", "c"])"), contains_text("unknown type \"a\""));
}

TEST_CASE("Qwen-MoE holds experts where decoder_sparse_step and mlp_only_layers say") {
  const std::string moe = R"(, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32)";
  const ModelSpec stepped = read_small(with_type("qwen3_moe", moe + R"(, "decoder_sparse_step": 2)"));
  CHECK(stepped.layers == std::vector<int>{0, 1, 0, 1});
  CHECK(stepped.kinds[0].ffn.kind == FfnKind::kDense);
  const ModelSpec named = read_small(with_type("qwen3_moe", moe + R"(, "mlp_only_layers": [0, 3])"));
  CHECK(named.layers == std::vector<int>{0, 1, 1, 0});
  CHECK_THROWS_AS(read_small(with_type("qwen3_moe", moe + R"(, "mlp_only_layers": [4])")), InputError);
  CHECK_THROWS_AS(read_small(with_type("qwen3_moe", moe + R"(, "mlp_only_layers": [18446744073709551615])")),
                  InputError);
}

TEST_CASE("Qwen2-MoE has a shared expert behind a gate") {
  const ModelSpec model =
      read_small(with_type("qwen2_moe",
                           R"(, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
         "shared_expert_intermediate_size": 48)"));
  CHECK(count_parameters(model).shared_experts == 4 * (3 * 48 * 64 + 64));
}

TEST_CASE("DeepSeek has dense layers first, and one matrix for Q where there is no latent") {
  const ModelSpec model = read_small(small_deepseek());
  CHECK(model.layers == std::vector<int>{0, 1, 1, 1});
  CHECK(model.kinds[0].ffn.kind == FfnKind::kDense);
  CHECK(elements_of(model, "q_b") == 4 * 24 * 64);
  std::string lite = small_deepseek();
  lite.replace(lite.find("\"q_lora_rank\": 64"), 17, "\"q_lora_rank\": null");
  CHECK(elements_of(read_small(lite), "q") == 4 * 24 * 256);
}

TEST_CASE("The text part of a multimodal model is read, its vision tower noted") {
  const ModelSpec model =
      read_small(R"({"model_type": "kimi_k25", "vision_config": {}, "text_config": )" + small_deepseek() + "}");
  CHECK(model.family == "deepseek");
  CHECK(model.notes == std::vector<std::string>{"the vision tower is left out"});  // in words that nobody knows
}

TEST_CASE("MTP layers are counted apart, and a note says so") {
  const ModelSpec without = read_small(small_deepseek());
  const ModelSpec with = read_small(small_deepseek(R"(, "num_nextn_predict_layers": 1)"));
  CHECK(count_parameters(with).total() == count_parameters(without).total());
  CHECK_THAT(with.notes.front(), contains_text("1 MTP module counted apart"));
  // A layer like the last one, the projection of [embedding, hidden], and three norms.
  std::int64_t layer = 0;
  for (const WeightTensor& tensor : layer_weights(with.kinds.back(), with.hidden)) layer += tensor.elements();
  CHECK(count_mtp_parameters(with) == layer + 2 * 256 * 256 + 3 * 256);
  CHECK(mtp_cache_bytes_per_token(with, *find_format("bf16")) == Bytes(2 * (32 + 8)));
  CHECK(count_mtp_parameters(without) == 0);
}

TEST_CASE("Llama-4 chunks three layers of four and alternates experts") {
  const ModelSpec model = load_model("llama-4-maverick");
  REQUIRE(model.kinds.size() == 3);
  CHECK(model.kinds[0].name == "dense_chunked");
  CHECK(model.kinds[1].name == "moe_chunked");
  CHECK(model.layers_of_kind(1) == 12);
  CHECK(model.kinds[2].attention.window == 0);
  CHECK(!model.kinds[2].attention.rotary);
  CHECK(model.kinds[1].ffn.shared_intermediate == 8192);
}

TEST_CASE("Gemma-4 has other heads in global layers, and V that is K") {
  const ModelSpec model = load_model("gemma-4-26b-a4b");
  REQUIRE(model.kinds.size() == 2);
  CHECK(model.kinds[0].attention.kv_heads == 8);
  CHECK(model.kinds[0].attention.head_dim == 256);
  CHECK(model.kinds[1].attention.kv_heads == 2);
  CHECK(model.kinds[1].attention.head_dim == 512);
  CHECK(model.kinds[1].attention.value_is_key);
  CHECK(model.kinds[1].ffn.shared_intermediate == 2112);
  CHECK_THAT(message_of([] {
               (void)read_small(with_type("gemma4", R"(, "sliding_window": 8, "hidden_size_per_layer_input": 256)"));
             }),
             contains_text("not understood yet"));
}

TEST_CASE("MiMo-V2 slides with more KV heads than its full layers have") {
  const ModelSpec model = load_model("mimo-v2-flash");
  REQUIRE(model.kinds.size() == 3);
  CHECK(model.kinds[0].attention.kv_heads == 4);
  CHECK(model.kinds[1].attention.kv_heads == 8);
  CHECK(model.kinds[1].attention.sinks);
  CHECK(!model.kinds[2].attention.sinks);
  CHECK(model.layers_of_kind(1) == 39);
}

TEST_CASE("Llama-Nemotron has blocks without attention and FFNs of many widths") {
  const ModelSpec model = load_model("nemotron-super-49b");
  std::int64_t without = 0;
  for (const int kind : model.layers)
    without += model.kinds[static_cast<std::size_t>(kind)].attention.kind == AttentionKind::kNone ? 1 : 0;
  CHECK(without == 31);
  CHECK(model.kinds[0].ffn.intermediate == 14336);  // 2/3 * 2.625 * 8192, up to a multiple of 256
  CHECK(model.kinds[1].ffn.intermediate == 28672);
}

TEST_CASE("Nemotron-3 is made of single blocks, its experts of a narrow width") {
  const ModelSpec model = load_model("nemotron-3-super-120b-a12b");
  REQUIRE(model.kinds.size() == 3);
  CHECK(model.kinds[0].attention.recurrent.rule == RecurrentRule::kStateSpace);
  CHECK(model.kinds[0].ffn.kind == FfnKind::kNone);
  CHECK(model.kinds[1].attention.kind == AttentionKind::kNone);
  CHECK(model.kinds[1].ffn.expert_hidden == 1024);
  CHECK(!model.kinds[1].ffn.gated);
  CHECK(model.kinds[2].name == "attention");
  CHECK(model.mtp_layers.size() == 2);
  CHECK(model.main_attention().q_heads == 32);
}

TEST_CASE("Qwen3.5 has one attention layer in four, gated") {
  const ModelSpec model = load_model("qwen3.5-397b-a17b");
  CHECK(model.layers_of_kind(0) == 45);
  CHECK(model.kinds[0].attention.recurrent.value_heads == 64);
  CHECK(model.kinds[1].attention.output_gate);
  CHECK(model.main_attention().kv_heads == 2);
}

TEST_CASE("Kimi-K3 counts its layers from one, and its experts work in a latent") {
  const ModelSpec model = load_model("kimi-k3");
  CHECK(model.kinds[0].name == "dense_recurrent");
  CHECK(model.kinds[0].ffn.intermediate == 33792);
  CHECK(model.kinds[1].ffn.expert_hidden == 3584);
  CHECK(model.kinds[static_cast<std::size_t>(model.layers[3])].attention.kind == AttentionKind::kLatent);
  CHECK(model.kinds[static_cast<std::size_t>(model.layers[92])].attention.kind == AttentionKind::kLatent);
}

TEST_CASE("GLM-5.2 shares the choice of one indexer in four") {
  const ModelSpec model = load_model("glm-5.2");
  std::int64_t own = 0;
  for (const int kind : model.layers) own += model.kinds[static_cast<std::size_t>(kind)].attention.index.shared ? 0 : 1;
  CHECK(own == 21);
  CHECK(load_model("glm-5").kinds.size() == 2);
}

TEST_CASE("A shared indexer needs one to share") {
  const std::string index = R"(, "index_n_heads": 2, "index_head_dim": 8, "index_topk": 4, "indexer_types": )";
  const auto refusal = [&](const char* types) {
    return message_of([&] { (void)read_small(small_deepseek(index + types)); });
  };
  CHECK_THAT(refusal(R"(["shared", "full", "full", "full"])"), contains_text("begins with a shared indexer"));
  CHECK_THAT(refusal(R"(["full"])"), contains_text("names 1 layers"));
  CHECK_THAT(refusal(R"(["full", "full", "half", "full"])"), contains_text("unknown type"));
}

TEST_CASE("DeepSeek-V4 keeps a window, compressed entries and their index, and says what it cannot do") {
  const ModelSpec model = load_model("deepseek-v4-flash");
  CHECK(model.kinds[0].name == "moe_window");
  CHECK(model.kinds[1].attention.compressed.ratio == 4);
  CHECK(model.kinds[1].attention.index.heads == 64);
  CHECK(model.kinds[2].attention.compressed.ratio == 128);
  CHECK(model.kinds[2].attention.index.heads == 0);
  CHECK(model.kinds[0].formats.experts->name == "mxfp4_a16");
  CHECK(model.kinds[0].formats.attention->name == "fp8_block");
}

TEST_CASE("An infinite limit, as Python writes it, does not spoil a config") {
  CHECK(
      read_small(small_llama(R"(, "time_step_limit": [0.0, Infinity, -Infinity], "name": "Infinity")")).layer_count() ==
      2);
}

TEST_CASE("An unknown field is noted when it could change a size, and only then") {
  CHECK(read_small(small_llama(R"(, "initializer_range": 0.02, "pretraining_tp": 1, "head_size": 0)")).notes.empty());
  CHECK(read_small(small_llama(R"(, "index_head_dim": 128)")).notes ==
        std::vector<std::string>{
            "fields not understood, every size is taken as if they were not there: \"index_head_dim\""});
}

}  // namespace
}  // namespace shardplan
