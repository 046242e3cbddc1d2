// Reads every published config of a known family that the reference material holds.
#include <algorithm>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/json.h"
#include "models/catalog.h"
#include "tests/base/message_of.h"
#include "tests/catch.h"
#include "tests/models/shared_data.h"

namespace shardplan {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kQuantSuffix = "_hf_quant.json";

// File name without ".json" of each config.json in `folder`, sorted.
std::vector<std::string> configs_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    if (file.path().extension() == ".json" && !name.ends_with(kQuantSuffix))
      names.push_back(file.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

ModelSpec read_published(const std::string& folder, const std::string& name) {
  const fs::path beside = fs::path(folder) / (name + std::string(kQuantSuffix));
  const std::string quantization = fs::exists(beside) ? read_file(beside.string(), kMaxJsonBytes) : "";
  return read_model_config(read_file((fs::path(folder) / (name + ".json")).string(), kMaxJsonBytes), quantization,
                           name);
}

bool is_of_known_family(const std::string& message) {
  return message.find("unknown model family") == std::string::npos &&
         message.find("not valid JSON") == std::string::npos;
}

TEST_CASE("Every published config of a known family reads, and nothing in it is left unexplained") {
  const auto folder = shared_path("models");
  if (!folder) return;
  int read = 0;
  for (const std::string& name : configs_in(*folder)) {
    INFO(name);
    ModelSpec model;
    const std::string refusal = message_of([&] { model = read_published(*folder, name); });
    if (!refusal.empty()) {
      INFO(refusal);
      CHECK(!is_of_known_family(refusal));
      continue;
    }
    ++read;
    for (const std::string& note : model.notes) CHECK_THAT(note, !contains_text("not understood"));
    CHECK(weight_bytes(model) > Bytes(0));
    CHECK(cache_bytes_per_token(model, *model.kv_format) > Bytes(0));
  }
  CHECK(read >= 35);
}

TEST_CASE("The catalog says what the published configs say") {
  const auto folder = shared_path("models");
  if (!folder) return;
  const std::vector<std::string> published = configs_in(*folder);
  for (const CatalogEntry& entry : model_catalog()) {
    std::vector<std::string> ids = entry.aliases;
    ids.push_back(entry.hf_id);
    for (std::string id : ids) {
      if (const std::size_t slash = id.find('/'); slash != std::string::npos) id.replace(slash, 1, "--");
      if (std::find(published.begin(), published.end(), id) == published.end()) continue;
      INFO(id);
      const ModelSpec ours = load_model(entry.name);
      const ModelSpec theirs = read_published(*folder, id);
      CHECK(ours.kinds == theirs.kinds);
      CHECK(ours.layers == theirs.layers);
      CHECK(ours.formats == theirs.formats);
      CHECK(ours.vocab == theirs.vocab);
      CHECK(ours.hidden == theirs.hidden);
      CHECK(ours.max_positions == theirs.max_positions);
      CHECK(ours.tied_embeddings == theirs.tied_embeddings);
      CHECK(ours.notes == theirs.notes);
    }
  }
}

TEST_CASE("Published NVFP4 checkpoints quantise what their lists leave") {
  const auto folder = shared_path("models");
  if (!folder) return;
  const ModelSpec deepseek = read_published(*folder, "nvidia--DeepSeek-V3.1-NVFP4");
  CHECK(deepseek.kinds.back().formats.attention->name == "bf16");
  CHECK(deepseek.kinds.back().formats.attention_output->name == "nvfp4");
  CHECK(deepseek.kinds.back().formats.experts->name == "nvfp4");
  CHECK(deepseek.kv_format->name == "fp8");
  const ModelSpec kimi = read_published(*folder, "nvidia--Kimi-K2.6-NVFP4");
  CHECK(kimi.kinds.front().formats.dense_ffn->name == "bf16");
  CHECK(kimi.kinds.back().formats.shared_experts->name == "bf16");
  CHECK(kimi.kinds.back().formats.experts->name == "nvfp4");
  const ModelSpec minimax = read_published(*folder, "nvidia--MiniMax-M2.5-NVFP4");
  CHECK(minimax.kinds.front().formats.attention->name == "bf16");
  CHECK(minimax.kinds.front().formats.experts->name == "nvfp4");
}

}  // namespace
}  // namespace shardplan
