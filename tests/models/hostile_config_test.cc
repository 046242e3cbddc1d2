// Whatever stands in a file, reading it ends with a model or with one line.
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "models/catalog.h"
#include "models/model_config.h"
#include "tests/base/message_of.h"
#include "tests/catch.h"
#include "tests/models/small_configs.h"

namespace shardplan {
namespace {

std::string refusal_of(const std::string& config, const std::string& quantization = "") {
  const std::string message = message_of([&] { (void)read_small(config, quantization); });
  CHECK(message.find('\n') == std::string::npos);
  return message;
}

// small_llama with the value of `key` replaced.
std::string llama_with(const std::string& key, const std::string& value) {
  std::string config = small_llama();
  const std::size_t start = config.find("\"" + key + "\": ") + key.size() + 4;
  config.replace(start, config.find_first_of(",}", start) - start, value);
  return config;
}

TEST_CASE("A size that is no size is refused by name") {
  const std::string key = GENERATE("hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
                                   "intermediate_size", "vocab_size");
  const std::string value = GENERATE("0", "-1", "1e300", "\"64\"", "64.5", "[64]", "{}", "true", "18446744073709551615",
                                     "9223372036854775807");
  INFO(key << " = " << value);
  CHECK_THAT(refusal_of(llama_with(key, value)), contains_text("/" + key));
}

TEST_CASE("A required size that is absent is refused by name") {
  CHECK_THAT(refusal_of(R"({"model_type": "llama"})"), contains_text("/hidden_size: is missing"));
  CHECK_THAT(refusal_of(llama_with("vocab_size", "null")), contains_text("/vocab_size: is missing"));
}

TEST_CASE("A model without a layer is refused, whichever field should have named it") {
  const std::string sizes = R"("hidden_size": 64, "vocab_size": 100, "num_attention_heads": 4, "num_key_value_heads": 2)";
  CHECK_THAT(refusal_of(R"({"model_type": "nemotron_h", "num_nextn_predict_layers": 1, )" + sizes + "}"),
             contains_text("hybrid_override_pattern: is missing"));
}

TEST_CASE("Heads must divide") {
  CHECK_THAT(refusal_of(llama_with("num_key_value_heads", "3")), contains_text("divisor of the 4 query heads"));
  CHECK_THAT(refusal_of(llama_with("hidden_size", "63")), contains_text("/head_dim"));
}

TEST_CASE("Sizes that are sane one by one but not together are refused") {
  CHECK_THAT(
      refusal_of(
          R"({"model_type": "mixtral", "hidden_size": 1000000, "num_hidden_layers": 10000, "num_attention_heads": 10,
      "intermediate_size": 100000000, "vocab_size": 10, "num_local_experts": 65536, "num_experts_per_tok": 1})"),
      contains_text("parameters"));
  CHECK_THAT(
      refusal_of(
          R"({"model_type": "llama", "hidden_size": 1000000, "num_hidden_layers": 10000, "num_attention_heads": 10,
      "intermediate_size": 100000, "vocab_size": 10})"),
      contains_text("at most 1000000000000000"));
}

TEST_CASE("A model may not use more experts than it has") {
  std::string config = small_deepseek();
  config.replace(config.find("\"num_experts_per_tok\": 2"), 24, "\"num_experts_per_tok\": 9");
  CHECK_THAT(refusal_of(config), contains_text("from 1 to 8"));
  CHECK_THAT(refusal_of(small_deepseek(R"(, "n_group": 3)")), contains_text("divisor of the 8 experts"));
}

// Reads `config` and what can be asked of a model; true when it was refused with one line.
bool refuses_or_counts(const std::string& config) {
  try {
    const ModelSpec model = read_small(config);
    (void)count_active_parameters(model);
    (void)weight_bytes(model);
    (void)cache_bytes_per_token(model, *model.kv_format);
    (void)state_bytes_per_request(model);
    (void)flops_per_token(model, 1e6);
    (void)mtp_weight_bytes(model);
    return false;
  } catch (const InputError& error) {
    return std::string(error.what()).find('\n') == std::string::npos;
  }
}

TEST_CASE("Every field of every family may hold anything") {
  std::set<std::string> families;
  int refused = 0;
  for (const CatalogEntry& entry : model_catalog()) {
    if (!families.insert(load_model(entry.name).family).second) continue;
    INFO(entry.name);
    const Json config = Json::parse(entry.config);
    for (const auto& [key, value] : config.items()) {
      for (const char* other :
           {"null", "0", "-1", "9223372036854775807", "1e300", "\"M*\"", "[]", "[1, \"a\"]", "{}", "true"}) {
        Json changed = config;
        changed[key] = Json::parse(other);
        refused += refuses_or_counts(changed.dump()) ? 1 : 0;
      }
    }
  }
  CHECK(families.size() >= 18);
  CHECK(refused > 1000);
}

TEST_CASE("Every truncation of a config is refused") {
  const std::string config =
      small_deepseek(R"(, "quantization_config": {"quant_method": "fp8", "ignore": ["lm_head"]})");
  for (std::size_t length = 0; length < config.size(); ++length) CHECK(!refusal_of(config.substr(0, length)).empty());
}

TEST_CASE("Texts that are no objects are refused") {
  for (const char* text :
       {"", "null", "[]", "3", "\"llama\"", "{", "{\"text_config\": 3}", "\xff\xfe", "{\"model_type\": 3}"}) {
    INFO(text);
    CHECK(!refusal_of(text).empty());
  }
}

TEST_CASE("A name with line breaks does not break the message") {
  CHECK_THAT(refusal_of(R"({"model_type": "a\nb\tc"})"), contains_text("\"a?b?c\""));
  CHECK(refusal_of(R"({"model_type": ")" + std::string(100'000, 'x') + "\"}").size() < 400);
}

TEST_CASE("A malformed hf_quant_config.json is refused by its name") {
  CHECK_THAT(refusal_of(small_llama(), "{"), contains_text("hf_quant_config.json"));
  CHECK_THAT(refusal_of(small_llama(), "{}"), contains_text("/quantization: is missing"));
}

TEST_CASE("More patterns than can be tried are refused") {
  std::string patterns = "\"*a\"";
  for (int i = 0; i < 300'000; ++i) patterns += ",\"*a\"";
  CHECK_THAT(
      refusal_of(small_llama(R"(, "quantization_config": {"quant_method": "fp8", "ignore": [)" + patterns + "]}")),
      contains_text("too many patterns"));
}

}  // namespace
}  // namespace shardplan
