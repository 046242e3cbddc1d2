// Typed reading of objects: wrong types, ranges, and where the message points.
#include <limits>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "tests/base/message_of.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

// The refusal of `read`, given the object in `text`.
template <class Read>
std::string refusal(const std::string& text, const Read& read) {
  const Json document = parse_json(text, "in.json");
  return message_of([&] {
    JsonObject object(document, "in.json");
    (void)read(object);
  });
}

}  // namespace

TEST_CASE("A value that is no object cannot be read as one") {
  CHECK(message_of([] { JsonObject(Json(3), "in.json"); }) == "in.json: is number; expected a JSON object");
  CHECK(refusal(R"({"a": {"b": [1]}})", [](JsonObject& o) { return o.object("a").object("b"); }) ==
        "in.json: /a/b: is array; expected a JSON object");
}

TEST_CASE("A missing required value names its pointer and what it should be") {
  CHECK(refusal("{}", [](JsonObject& o) { return o.integer("layers", 1, 9); }) ==
        "in.json: /layers: is missing; expected an integer from 1 to 9");
  CHECK_THAT(refusal("{}", [](JsonObject& o) { return o.number("x", 0, 1); }), contains_text("/x: is missing"));
  CHECK_THAT(refusal("{}", [](JsonObject& o) { return o.string("x"); }), contains_text("/x: is missing"));
  CHECK_THAT(refusal(R"({"x": null})", [](JsonObject& o) { return o.object("x"); }), contains_text("/x: is missing"));
}

TEST_CASE("Pointers escape the two characters that JSON Pointer reserves") {
  CHECK_THAT(refusal(R"({"a/b": {"c~d": "no"}})", [](JsonObject& o) { return o.object("a/b").integer("c~d", 0, 1); }),
             contains_text("in.json: /a~1b/c~0d: is string"));
}

TEST_CASE("Integers are exact, in range, and never rounded from a fraction") {
  const auto read = [](JsonObject& o) { return o.integer("n", 0, kMax); };
  CHECK(refusal(R"({"n": 9223372036854775807})", read).empty());
  CHECK_THAT(refusal(R"({"n": 9223372036854775808})", read), contains_text("/n: is 9223372036854775808"));
  CHECK_THAT(refusal(R"({"n": 1e30})", read), contains_text("/n: is not an integer"));
  CHECK_THAT(refusal(R"({"n": 2.5})", read), contains_text("/n: is not an integer"));
  CHECK_THAT(refusal(R"({"n": -1})", read), contains_text("/n: is -1"));
  CHECK_THAT(refusal(R"({"n": "4"})", read), contains_text("/n: is string"));
  CHECK_THAT(refusal(R"({"n": true})", read), contains_text("/n: is boolean"));
}

TEST_CASE("A huge unsigned number does not wrap into a negative range") {
  CHECK_THAT(refusal(R"({"n": 18446744073709551615})", [](JsonObject& o) { return o.integer("n", kMin, -1); }),
             contains_text("/n: is 18446744073709551615"));
  CHECK(refusal(R"({"n": -9223372036854775808})", [](JsonObject& o) { return o.integer("n", kMin, -1); }).empty());
}

TEST_CASE("Numbers keep to their range and may be written as integers") {
  const Json document = parse_json(R"({"a": 3, "b": 0.5, "c": 1.01})", "in.json");
  JsonObject object(document, "in.json");
  CHECK(object.number("a", 0, 3) == 3);
  CHECK(object.number("b", 0, 1) == 0.5);
  CHECK_THAT(message_of([&] { (void)object.number("c", 0, 1); }), contains_text("/c: is 1.01; expected a number from 0 to 1"));
}

TEST_CASE("An optional value falls back when absent or null, not when of a wrong type") {
  const Json document = parse_json(R"({"null": null, "text": "x", "number": 1})", "in.json");
  JsonObject object(document, "in.json");
  CHECK(object.integer_or("none", 7, 0, 9) == 7);
  CHECK(object.integer_or("null", 7, 0, 9) == 7);
  CHECK(object.number_or("none", 0.5, 0, 1) == 0.5);
  CHECK(object.boolean_or("none", true));
  CHECK(object.string_or("null", "y") == "y");
  CHECK_FALSE(object.object_if("null").has_value());
  CHECK_THAT(message_of([&] { (void)object.integer_or("text", 7, 0, 9); }), contains_text("/text: is string"));
  CHECK_THAT(message_of([&] { (void)object.boolean_or("number", true); }), contains_text("/number: is number"));
  CHECK_THAT(message_of([&] { (void)object.string_or("number", ""); }), contains_text("/number: is number"));
  CHECK_THAT(message_of([&] { (void)object.object_if("text"); }), contains_text("/text: is string"));
}

TEST_CASE("Arrays point at the item that is wrong") {
  CHECK_THAT(refusal(R"({"a": [{}, 3]})", [](JsonObject& o) { return o.objects("a"); }), contains_text("/a/1: is number"));
  CHECK_THAT(refusal(R"({"a": {}})", [](JsonObject& o) { return o.objects("a"); }), contains_text("/a: is object"));
  CHECK_THAT(refusal(R"({"a": ["x", 1]})", [](JsonObject& o) { return o.strings("a"); }), contains_text("/a: is not a list"));
  const Json document = parse_json(R"({"a": ["x", "y"]})", "in.json");
  JsonObject object(document, "in.json");
  CHECK(object.strings("a") == std::vector<std::string>{"x", "y"});
  CHECK(object.objects("none").empty());
}

TEST_CASE("Keys that nobody read are listed, and refused with the nearest known one") {
  const Json document = parse_json(R"({"hidden_size": 1, "hiden_layers": 2, "note": 3})", "in.json");
  JsonObject object(document, "in.json", "/model");
  (void)object.integer("hidden_size", 0, 9);
  CHECK(object.unread_keys() == std::vector<std::string>{"hiden_layers", "note"});
  object.ignore("note");
  CHECK(message_of([&] { object.refuse_unread({"hidden_layers", "hidden_size"}); }) ==
        "in.json: /model/hiden_layers: is not a known key; expected a known name, such as hidden_layers");
  (void)object.find("hiden_layers");
  CHECK(message_of([&] { object.refuse_unread(); }).empty());
}

TEST_CASE("An unknown key in an object with no known key is refused without a hint") {
  const Json document = parse_json(R"({"a": 1})", "in.json");
  CHECK(message_of([&] { JsonObject(document, "in.json").refuse_unread(); }) == "in.json: /a: is not a known key");
}

}  // namespace shardplan
