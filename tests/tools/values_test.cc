// Values of flags: what is read, and what a refusal says.
#include "tools/cli/values.h"

#include "tests/base/message_of.h"
#include "tests/catch.h"

namespace shardplan {

TEST_CASE("A count is decimal digits within its range") {
  CHECK(parse_count("1", "--tp", {1, 8}) == 1);
  CHECK(parse_count("8", "--tp", {1, 8}) == 8);
  for (const char* text : {"", " 8", "8 ", "+8", "8.0", "0x8", "1e3", "eight", "8,0"}) {
    CHECK_THAT(message_of([&] { (void)parse_count(text, "--tp", {1, 8}); }), contains_text("is not a whole number; expected"));
  }
  for (const char* text : {"0", "-1", "9", "99999999999999999999", "-99999999999999999999"}) {
    CHECK_THAT(message_of([&] { (void)parse_count(text, "--tp", {1, 8}); }),
               contains_text("is out of range; expected a whole number from 1 to 8"));
  }
}

TEST_CASE("A list of counts has commas between its numbers") {
  CHECK(parse_counts("24,24,23,23", "--pp-layers", {1, 100}) == std::vector<std::int64_t>{24, 24, 23, 23});
  for (const char* text : {"", ",", "1,", ",1", "1,,2", "1 2"}) {
    CHECK_THAT(message_of([&] { (void)parse_counts(text, "--pp-layers", {1, 100}); }), contains_text("--pp-layers: "));
  }
}

TEST_CASE("A number is finite and within its range") {
  CHECK(parse_number("40", "--tpot-ms", {0, 1e9}) == 40);
  CHECK(parse_number("0.5", "--tpot-ms", {0, 1e9}) == 0.5);
  for (const char* text : {"nan", "", "4O", "1e400x"}) {
    CHECK_THAT(message_of([&] { (void)parse_number(text, "--tpot-ms", {0, 1e9}); }), contains_text("is not a number"));
  }
  for (const char* text : {"0", "-1", "inf", "1e300", "1e400"}) {
    CHECK_THAT(message_of([&] { (void)parse_number(text, "--tpot-ms", {0, 1e9}); }), contains_text("is out of range"));
  }
}

TEST_CASE("An unknown choice names the nearest one") {
  CHECK(parse_choice("json", "--format", {"table", "json"}) == 1);
  CHECK(message_of([] { (void)parse_choice("jsn", "--format", {"table", "json"}); }) ==
        "--format: \"jsn\" is unknown; expected a known name, such as json");
}

TEST_CASE("A hostile value is cut short in its error") {
  CHECK(message_of([] { (void)parse_count(std::string(100'000, 'x'), "--tp", {1, 8}); }).size() < 200);
}

}  // namespace shardplan
