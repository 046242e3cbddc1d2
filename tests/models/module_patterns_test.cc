#include "models/quantization/module_patterns.h"

#include <string>

#include "models/quantization/name_regex.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

bool means(const char* pattern, const char* module) {
  ModulePatterns patterns;
  return patterns.add(pattern) && patterns.matches(module);
}

bool regex_matches(const char* pattern, const char* text) {
  const auto regex = NameRegex::parse(pattern);
  return regex.has_value() && regex->matches(text);
}

TEST_CASE("A plain name means a module, those below it, and no longer name") {
  CHECK(means("self_attn", "model.layers.0.self_attn.q_proj"));
  CHECK(means("model.layers.0.mlp.gate", "model.layers.0.mlp.gate"));
  CHECK(!means("gate", "model.layers.0.mlp.gate_proj"));
  CHECK(!means("model.layers.1", "model.layers.10.mlp.gate_proj"));
  CHECK(means("lm_head", "lm_head"));
  CHECK(!means("lm", "lm_head"));
}

TEST_CASE("A star stands for any characters, dots included") {
  CHECK(means("model.layers.*.self_attn", "model.layers.17.self_attn.o_proj"));
  CHECK(means("model.layers.0*", "model.layers.0.mlp.down_proj"));
  CHECK(!means("model.layers.1.*", "model.layers.10.mlp.down_proj"));
  CHECK(means("*.mlp.shared_experts.*", "model.layers.3.mlp.shared_experts.up_proj"));
  CHECK(means("model.layers.3.self_attn*", "model.layers.3.self_attn.kv_b_proj"));
  CHECK(!means("*self_attn", "model.layers.3.mlp.up_proj"));
  CHECK(means("*", "anything"));
}

TEST_CASE("Nested text models are called as if they were not nested") {
  CHECK(means("language_model.model.layers.0*", "model.layers.0.self_attn.q_proj"));
  CHECK(means("model.language_model.layers.0.mlp*", "model.layers.0.mlp.up_proj"));
  CHECK(means("language_model.lm_head", "lm_head"));
}

TEST_CASE("Regular expressions match from the start of the path") {
  CHECK(means(R"(re:.*self_attn.*)", "model.layers.0.self_attn.q_proj"));
  CHECK(means(R"(re:.*mlp\.(gate|up|gate_up|down)_proj.*)", "model.layers.0.mlp.down_proj"));
  CHECK(!means(R"(re:.*mlp\.(gate|up|gate_up|down)_proj.*)", "model.layers.0.mlp.experts.0.down_proj"));
  CHECK(!means("re:self_attn", "model.layers.0.self_attn"));
}

TEST_CASE("The known part of regular expressions") {
  CHECK(regex_matches("a|bc", "bc"));
  CHECK(regex_matches("(ab)+c", "ababc"));
  CHECK(!regex_matches("(ab)+c", "c"));
  CHECK(regex_matches("a?b", "b"));
  CHECK(regex_matches(R"(layers\.[0-3]\.)", "layers.2.x"));
  CHECK(!regex_matches(R"(layers\.[^0-3]\.)", "layers.2.x"));
  CHECK(regex_matches(R"(layers\.\d+$)", "layers.12"));
  CHECK(!regex_matches(R"(layers\.\d+$)", "layers.12.x"));
  CHECK(regex_matches("^(?:a|)b", "b"));
  CHECK(regex_matches("", "anything"));
  CHECK(regex_matches("(a*)*b", "aaab"));
}

TEST_CASE("What is not known is refused, not misread") {
  for (const char* pattern : {"(?!a)b", "a{2}", "(a", "a)", "[a", "*a", "a**", "\\", R"(\bword)", "[\\d]"}) {
    INFO(pattern);
    CHECK(!NameRegex::parse(pattern).has_value());
  }
  CHECK(!NameRegex::parse(std::string(NameRegex::kMaxPattern + 1, 'a')).has_value());
}

TEST_CASE("No pattern makes matching explode") {
  // Backtracking would take 2^60 steps here.
  std::string pattern;
  for (int i = 0; i < 30; ++i) pattern += "(a*)*";
  CHECK(!regex_matches((pattern + "b").c_str(), std::string(200, 'a').c_str()));
  ModulePatterns patterns;
  CHECK(patterns.add(std::string(100, '*') + "b"));
  CHECK(!patterns.matches(std::string(500, 'a')));
}

}  // namespace
}  // namespace shardplan
