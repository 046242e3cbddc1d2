#include "models/catalog.h"

#include <algorithm>

#include "base/file.h"
#include "tests/base/message_of.h"
#include "tests/base/scratch_folder.h"
#include "tests/catch.h"
#include "tests/models/small_configs.h"

namespace shardplan {
namespace {

std::string refusal_of(const std::string& name) {
  return message_of([&] { (void)load_model(name); });
}

TEST_CASE("Every catalog model loads under its name, its id and its aliases") {
  CHECK(model_catalog().size() >= 15);
  for (const CatalogEntry& entry : model_catalog()) {
    INFO(entry.name);
    const ModelSpec model = load_model(entry.name);
    CHECK(model.name == entry.name);
    CHECK(model.hf_id == entry.hf_id);
    CHECK(!model.family.empty());
    CHECK(load_model(entry.hf_id).name == entry.name);
    for (const std::string& alias : entry.aliases) CHECK(load_model(alias).name == entry.name);
  }
}

TEST_CASE("Catalog entries are sorted and no name means two models") {
  const auto& entries = model_catalog();
  std::vector<std::string> names;
  for (const CatalogEntry& entry : entries) {
    names.push_back(entry.name);
    names.push_back(entry.hf_id);
    names.insert(names.end(), entry.aliases.begin(), entry.aliases.end());
  }
  CHECK(std::is_sorted(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; }));
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}

TEST_CASE("Names of models ignore case") {
  CHECK(load_model("QWEN/qwen3-235b-a22b").name == "qwen3-235b-a22b");
  CHECK(load_model("Qwen3-Coder-480B-A35B").name == "qwen3-coder-480b");
}

TEST_CASE("Catalog models come in the precision they were published in") {
  const auto experts = [](const char* name) { return load_model(name).kinds.back().formats.experts->name; };
  CHECK(experts("deepseek-v3") == "fp8_block");
  CHECK(experts("minimax-m2.5") == "fp8_block");
  CHECK(experts("gpt-oss-120b") == "mxfp4_a16");
  CHECK(experts("kimi-k2.5") == "int4_g32");
  CHECK(experts("qwen3-30b-a3b") == "bf16");
  for (const CatalogEntry& entry : model_catalog()) {
    INFO(entry.name);
    CHECK(load_model(entry.name).kv_format->name == (std::string_view(entry.name) == "llama-2-70b" ? "fp16" : "bf16"));   // as published
  }
}

TEST_CASE("Checkpoints whose names end in a format, a tuning or a date have the sizes of the model named before") {
  const auto weights = [](const char* name) {
    const ModelSpec model = load_model(name);
    CHECK(model.hf_id == name);
    CHECK_THAT(model.notes.back(), contains_text("is taken for"));
    return model.name + " " + std::string(model.kinds.back().formats.attention->name);
  };
  CHECK(weights("Qwen/Qwen3-32B-FP8") == "qwen3-32b fp8_block");  // the maker's own: scales by block
  CHECK(weights("RedHatAI/Qwen3-32B-FP8-dynamic") == "qwen3-32b fp8_channel");
  CHECK(weights("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic") == "llama-3.1-70b fp8_channel");
  CHECK(weights("neuralmagic/Meta-Llama-3.1-70B-Instruct-FP8") == "llama-3.1-70b fp8");
  CHECK(weights("RedHatAI/Meta-Llama-3.1-70B-Instruct-quantized.w4a16") == "llama-3.1-70b int4_g128");
  CHECK(weights("nvidia/DeepSeek-R1-0528-FP4") == "deepseek-r1 nvfp4");
  CHECK(weights("Qwen/Qwen3-235B-A22B-Thinking-2507") == "qwen3-235b-a22b bf16");
  CHECK(weights("moonshotai/Kimi-K2-Instruct-0905") == "kimi-k2 fp8_block");
  CHECK(weights("mistralai/Mixtral-8x22B-Instruct-v0.1") == "mixtral-8x22b bf16");
  CHECK_THAT(refusal_of("Qwen/Qwen3-33B-FP8"), contains_text("such as qwen3-3"));
}

TEST_CASE("A mistyped path is not taken for the model it is called after") {
  for (const char* path : {"./weights/qwen3-32b", "../Qwen3-32B-FP8", "/data/Qwen3-32B-FP8", "~/qwen3-32b-awq", "data/models/qwen3-32b-fp8"})
    CHECK_THAT(refusal_of(path), contains_text("no such model"));
}

TEST_CASE("An unknown model is refused with the nearest name") {
  CHECK_THAT(refusal_of("llama-3.1-7b"), contains_text("such as llama-3.1-"));
  CHECK_THAT(refusal_of("deepseek-v4"), contains_text("such as deepseek-v3"));
  CHECK_THAT(refusal_of("missing/config.json"), contains_text("no such file"));
  CHECK_THAT(refusal_of(""), contains_text("no such model"));
}

TEST_CASE("A model of one's own is a JSON file and nothing else") {
  const ScratchFolder folder;
  write_file_atomically(folder.path("mine.json"), small_llama());
  const ModelSpec model = load_model(folder.path("mine.json"));
  CHECK(model.name == folder.path("mine.json"));
  CHECK(model.layer_count() == 2);
  CHECK(model.kinds.front().formats.attention->name == "bf16");
}

TEST_CASE("A model directory brings the quantisation beside its config.json") {
  const ScratchFolder folder;
  write_file_atomically(folder.path("config.json"), small_llama());
  write_file_atomically(
      folder.path("hf_quant_config.json"),
      R"({"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}})");
  for (const std::string& name : {folder.path(""), folder.path("config.json")}) {
    const ModelSpec model = load_model(name);
    CHECK(model.kinds.front().formats.dense_ffn->name == "fp8");
    CHECK(model.kv_format->name == "fp8");
  }
}

TEST_CASE("A config under another name is quantised by the file named after it") {
  const ScratchFolder folder;
  write_file_atomically(folder.path("small.json"), small_llama());
  CHECK(load_model(folder.path("small.json")).kinds.front().formats.dense_ffn->name == "bf16");
  write_file_atomically(folder.path("small_hf_quant.json"),
                        R"({"quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head"]}})");
  CHECK(load_model(folder.path("small.json")).kinds.front().formats.dense_ffn->name == "fp8");
}

TEST_CASE("A directory without a config.json is refused") {
  const ScratchFolder folder;
  CHECK_THAT(refusal_of(folder.path("")), contains_text("config.json"));
}

}  // namespace
}  // namespace shardplan
