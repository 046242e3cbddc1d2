// Hints that name what was probably meant, and keep quiet otherwise.
#include "base/suggest.h"

#include "tests/base/message_of.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

const std::vector<std::string> kHardware{"h100-sxm", "h200-sxm", "b200-sxm", "gb200-nvl72"};

}  // namespace

TEST_CASE("Edit distance counts insertions, deletions, replacements and swaps of neighbours") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("hidden", "hiddne") == 1);
  CHECK(edit_distance("abc", "abc") == 0);
}

TEST_CASE("The nearest name survives typing errors, case and missing parts") {
  CHECK(nearest_name("h20-sxm", kHardware) == "h200-sxm");
  CHECK(nearest_name("H200-SXM", kHardware) == "h200-sxm");
  CHECK(nearest_name("nvl72", kHardware) == "gb200-nvl72");
  CHECK(nearest_name("nvidia-h200-sxm", kHardware) == "h200-sxm");
}

TEST_CASE("Nothing is suggested for a name that is near to none") {
  CHECK(nearest_name("tpu-v5e", kHardware).empty());
  CHECK(nearest_name("", {"tp", "pp"}).empty());
  CHECK(nearest_name(std::string(100000, 'x'), kHardware).empty());
  CHECK(nearest_name("h200", {}).empty());
}

TEST_CASE("The hint lists what there is when no name is near") {
  CHECK(nearest_hint("h200-smx", kHardware) == "a known name, such as h200-sxm");
  CHECK(nearest_hint("zzzzzzzz", kHardware) == "one of h100-sxm, h200-sxm, b200-sxm, gb200-nvl72");
  CHECK(nearest_hint("anything", {}).empty());
  const std::vector<std::string> many(20, "long-name");
  CHECK_THAT(nearest_hint("zzzz", many), contains_text(", ..."));
}

}  // namespace shardplan
