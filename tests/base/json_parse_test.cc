// Strict parsing: what nlohmann/json would let through, and what hostile text does.
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "tests/base/message_of.h"
#include "tests/base/scratch_folder.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

std::string refusal(const std::string& text) {
  return message_of([&] { (void)parse_json(text, "in.json"); });
}

std::string nested(int depth) {
  const auto count = static_cast<std::size_t>(depth);
  return std::string(count, '[') + std::string(count, ']');
}

}  // namespace

TEST_CASE("A well-formed document is read as it stands") {
  const Json document = parse_json(R"({"a": [1, -2, 2.5, true, null, "x"], "b": {"a": {}}})", "in.json");
  CHECK(document["a"][1] == -2);
  CHECK(document["a"][2] == 2.5);
  CHECK(document["b"]["a"].is_object());
  CHECK(parse_json("18446744073709551615", "in.json").get<std::uint64_t>() == 18446744073709551615ULL);
}

TEST_CASE("A key given twice is refused with its JSON pointer") {
  CHECK(refusal(R"({"a": 1, "a": 2})") == "in.json: /a: is given twice; expected each key once");
  CHECK_THAT(refusal(R"({"a": {"b/c": {"d": 1, "d": 1}}})"), contains_text("in.json: /a/b~1c/d: is given twice"));
  CHECK_THAT(refusal(R"({"a": [0, {"b": 1, "b": 1}]})"), contains_text("/a/-/b: is given twice"));
}

TEST_CASE("The same key in different objects is no duplicate") {
  CHECK(refusal(R"([{"a": 1}, {"a": 2}, {"b": {"a": {"a": 3}}, "a": 4}])").empty());
}

TEST_CASE("Numbers that are not finite are refused") {
  CHECK(refusal("1e999") == "in.json: number 1e999 is out of range; expected a finite number");
  CHECK_THAT(refusal(R"({"a": -1e400})"), contains_text("number -1e400 is out of range"));
  CHECK_FALSE(refusal(R"({"a": NaN})").empty());
  CHECK_FALSE(refusal(R"({"a": Infinity})").empty());
  CHECK(parse_json("1e-999", "in.json").get<double>() == 0);
}

TEST_CASE("Nesting is refused beyond the limit, however deep, and allowed up to it") {
  CHECK(refusal(nested(kMaxJsonDepth)).empty());
  CHECK(refusal(nested(kMaxJsonDepth + 1)) == "in.json: nested too deeply; expected at most 64 levels");
  CHECK_THAT(refusal(std::string(1000000, '[')), contains_text("nested too deeply"));
  std::string objects;
  for (int i = 0; i <= kMaxJsonDepth; ++i) objects += R"({"a":)";
  CHECK_THAT(refusal(objects), contains_text("nested too deeply"));
}

TEST_CASE("Closed levels do not count towards nesting") {
  std::string wide = "[";
  for (int i = 0; i < 200; ++i) wide += "[{}],";
  CHECK(refusal(wide + "0]").empty());
}

TEST_CASE("Every proper beginning of a document is refused") {
  const std::string text = R"({"a": [1, {"b": "cd"}], "e": false})";
  for (std::size_t length = 0; length < text.size(); ++length) {
    INFO("length " << length);
    CHECK_FALSE(refusal(text.substr(0, length)).empty());
  }
}

TEST_CASE("Text after the document, comments and trailing commas are refused") {
  CHECK_FALSE(refusal("{} {}").empty());
  CHECK_FALSE(refusal("[1,]").empty());
  CHECK_FALSE(refusal("// hello\n{}").empty());
  CHECK_FALSE(refusal("{'a': 1}").empty());
}

TEST_CASE("A refusal stays one printable line whatever bytes the text holds") {
  for (const std::string text : {"{\"a\xff\xfe\": 1}", "[\"line\nbreak\"]", "\x1b[31m", "[\"\xed\xa0\x80\"]"}) {
    const std::string message = refusal(text);
    CHECK_FALSE(message.empty());
    for (const char c : message) CHECK((c >= 0x20 && c < 0x7F));
  }
  CHECK_FALSE(refusal(std::string("[1\0]", 4)).empty());
}

TEST_CASE("A file that is missing or a folder is refused by name") {
  const ScratchFolder scratch;
  CHECK_THAT(message_of([&] { (void)read_json_file(scratch.path("none.json")); }), contains_text("none.json: no such file"));
  CHECK_THAT(message_of([&] { (void)read_json_file(scratch.path("")); }), contains_text("is a directory"));
}

}  // namespace shardplan
