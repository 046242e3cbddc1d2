// Which module ends up in which format.
#include "models/catalog.h"
#include "tests/base/message_of.h"
#include "tests/catch.h"
#include "tests/models/small_configs.h"

namespace shardplan {
namespace {

std::string quantised(const std::string& config) { return R"(, "quantization_config": )" + config; }

std::string refusal_of(const std::string& config) {
  return message_of([&] { (void)read_small(small_llama(quantised(config))); });
}

TEST_CASE("fp8 comes in blocks or per tensor, and leaves head, embedding and norms alone") {
  const ModelSpec blocks =
      read_small(small_llama(quantised(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})")));
  CHECK(blocks.kinds.front().formats.attention->name == "fp8_block");
  CHECK(blocks.formats.head->name == "bf16");
  CHECK(blocks.formats.embedding->name == "bf16");
  CHECK(blocks.kinds.front().formats.other->name == "bf16");
  const ModelSpec tensors =
      read_small(small_llama(quantised(R"({"quant_method": "fp8", "activation_scheme": "static"})")));
  CHECK(tensors.kinds.front().formats.dense_ffn->name == "fp8");
}

TEST_CASE("Modules named in the exclusion list stay as they were") {
  const ModelSpec model = read_small(small_deepseek(quantised(
      R"({"quant_method": "fp8", "weight_block_size": [128, 128],
          "modules_to_not_convert": ["self_attn", "mlp.gate", "shared_experts"]})")));
  const WeightFormats& formats = model.kinds.back().formats;
  CHECK(formats.attention->name == "bf16");
  CHECK(formats.attention_output->name == "bf16");
  CHECK(formats.shared_experts->name == "bf16");
  CHECK(formats.experts->name == "fp8_block");
  CHECK(model.kinds.front().formats.dense_ffn->name == "fp8_block");
}

TEST_CASE("Excluding one layer makes it a kind of its own") {
  const ModelSpec model = read_small(
      small_deepseek(quantised(R"({"quant_algo": "NVFP4", "ignore": ["model.layers.2.self_attn*", "lm_head"]})")));
  CHECK(model.layers == std::vector<int>{0, 1, 2, 1});
  CHECK(model.kinds[1].name == "moe");
  CHECK(model.kinds[2].name == "moe_2");
  CHECK(model.kinds[1].formats.attention->name == "nvfp4");
  CHECK(model.kinds[2].formats.attention->name == "bf16");
  CHECK(model.kinds[2].formats.experts->name == "nvfp4");
}

TEST_CASE("The output projection may be quantised alone") {
  const ModelSpec model = read_small(small_deepseek(), R"({"quantization": {"quant_algo": "NVFP4", "exclude_modules":
      ["*self_attn.q_a_proj", "*self_attn.q_b_proj", "*self_attn.kv_a_proj_with_mqa", "*self_attn.kv_b_proj"]}})");
  CHECK(model.kinds.back().formats.attention->name == "bf16");
  CHECK(model.kinds.back().formats.attention_output->name == "nvfp4");
}

TEST_CASE("Matrices of one family that differ take the widest format, with a note") {
  const ModelSpec model =
      read_small(small_llama(quantised(R"({"quant_method": "fp8", "modules_to_not_convert": ["down_proj"]})")));
  CHECK(model.kinds.front().formats.dense_ffn->name == "bf16");
  REQUIRE(model.notes.size() == 1);
  CHECK_THAT(model.notes.front(), contains_text("dense FFN differ"));
}

TEST_CASE("mxfp4 of gpt-oss means the experts") {
  const ModelSpec model = load_model("gpt-oss-20b");
  CHECK(model.kinds.front().formats.experts->name == "mxfp4_a16");
  CHECK(model.kinds.front().formats.attention->name == "bf16");
}

TEST_CASE("compressed-tensors groups give the format by bits, type and strategy") {
  struct Row {
    const char* weights;
    const char* activations;
    const char* format;
  };
  const Row row =
      GENERATE(Row{R"("type": "int", "num_bits": 4, "strategy": "group", "group_size": 32)", "null", "int4_g32"},
               Row{R"("type": "int", "num_bits": 4, "strategy": "group", "group_size": 128)", "null", "int4_g128"},
               Row{R"("type": "int", "num_bits": 8, "strategy": "channel")", R"({"num_bits": 8})", "int8"},
               Row{R"("type": "int", "num_bits": 8, "strategy": "channel")", "null", "int8_a16"},
               Row{R"("type": "float", "num_bits": 8, "strategy": "channel")", R"({"num_bits": 8})", "fp8_channel"},
               Row{R"("type": "float", "num_bits": 8, "strategy": "tensor")", R"({"num_bits": 8})", "fp8"},
               Row{R"("type": "float", "num_bits": 8, "strategy": "block")", R"({"num_bits": 8})", "fp8_block"},
               Row{R"("type": "float", "num_bits": 4, "group_size": 16)", R"({"num_bits": 4})", "nvfp4"},
               Row{R"("type": "float", "num_bits": 4, "group_size": 16)", "null", "nvfp4_a16"},
               Row{R"("type": "float", "num_bits": 4, "group_size": 32)", "null", "mxfp4_a16"});
  const std::string config =
      std::string(R"({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"targets": ["Linear"],)") +
      R"("weights": {)" + row.weights + R"(}, "input_activations": )" + row.activations + "}}}";
  CHECK(read_small(small_llama(quantised(config))).kinds.front().formats.dense_ffn->name == row.format);
}

TEST_CASE("Mixed precision names a format per module") {
  const ModelSpec model =
      read_small(small_llama(), R"({"quantization": {"quant_algo": "MIXED_PRECISION", "quantized_layers": {
      "model.layers.0.mlp": {"quant_algo": "NVFP4"}, "model.layers.1.mlp": {"quant_algo": "FP8"},
      "lm_head": {"quant_algo": "FP8"}}}})");
  CHECK(model.kinds[0].formats.dense_ffn->name == "nvfp4");
  CHECK(model.kinds[1].formats.dense_ffn->name == "fp8");
  CHECK(model.kinds[0].formats.attention->name == "bf16");
  CHECK(model.formats.head->name == "fp8");
}

TEST_CASE("The cache takes the format the quantisation names, or that of the model") {
  const auto kv = [](const std::string& config) { return read_small(small_llama(quantised(config))).kv_format->name; };
  CHECK(kv(R"({"quant_algo": "FP8"})") == "bf16");
  CHECK(kv(R"({"quant_algo": "FP8", "kv_cache_scheme": "FP8"})") == "fp8");
  CHECK(kv(R"({"quant_algo": "NVFP4", "kv_cache_scheme": {"num_bits": 8, "type": "float", "dynamic": false}})") ==
        "fp8");
  CHECK(kv(R"({"quant_algo": "NVFP4", "kv_cache_quant_algo": "NVFP4"})") == "nvfp4");
  CHECK(read_small(small_llama(R"(, "torch_dtype": "float16")")).kv_format->name == "fp16");
  CHECK(read_small(small_llama(R"(, "dtype": "float32")")).kv_format->name == "bf16");
}

TEST_CASE("Unknown methods and formats are refused by name") {
  CHECK_THAT(refusal_of(R"({"quant_method": "modelop"})"), contains_text("such as modelopt"));
  CHECK_THAT(refusal_of(R"({"quant_algo": "FP9"})"), contains_text("unknown quant_algo \"FP9\""));
  CHECK_THAT(refusal_of(R"({"quant_method": "gptq", "bits": 4, "group_size": 48})"), contains_text("int4_g48"));
  CHECK_THAT(refusal_of(R"({"quant_method": "fp8", "weight_block_size": [64, 64]})"), contains_text("[128, 128]"));
  CHECK_THAT(refusal_of(R"({"bits": 4})"), contains_text("quant_method: is missing"));
  CHECK_THAT(refusal_of(R"("fp8")"), contains_text("a JSON object"));
}

TEST_CASE("A pattern that cannot be read is noted and names nothing") {
  const ModelSpec model = read_small(small_llama(quantised(R"({"quant_method": "fp8", "ignore": ["re:(?!a)b"]})")));
  CHECK(model.kinds.front().formats.attention->name == "fp8");
  REQUIRE(model.notes.size() == 1);
  CHECK_THAT(model.notes.front(), contains_text("not understood"));
}

TEST_CASE("Replacing weight formats spares head, embedding, norms and routers, and joins kinds") {
  ModelSpec model =
      read_small(small_deepseek(quantised(R"({"quant_algo": "NVFP4", "ignore": ["model.layers.2.self_attn*"]})")));
  REQUIRE(model.kinds.size() == 3);
  override_weight_format(model, require_format("fp8", "test"));
  CHECK(model.kinds.size() == 2);
  CHECK(model.layers == std::vector<int>{0, 1, 1, 1});
  CHECK(model.kinds.back().formats.experts->name == "fp8");
  CHECK(model.kinds.back().formats.attention_output->name == "fp8");
  CHECK(model.kinds.back().formats.other->name == "bf16");
  CHECK(model.formats.head->name == "bf16");
}

}  // namespace
}  // namespace shardplan
