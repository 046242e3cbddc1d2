// HTML pages: one page whatever it holds, and text that cannot become markup.
#include "tests/catch.h"
#include "tools/documents/page.h"
#include "tools/documents/validate_page.h"

namespace shardplan {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_CASE("Reports of several tables make one page") {
  ValidateReport serving;
  serving.file = "mine & yours.csv";
  PointReport points;
  points.kind = "static batches";
  points.groupings.resize(2);
  const std::string text = validate_page({serving, serving}, {points});
  CHECK(count_of(text, "<!doctype html>") == 1);
  CHECK(count_of(text, "</html>") == 1);
  CHECK(text.ends_with("</html>\n"));
  CHECK(count_of(text, "<h1>") == 3);
  CHECK(count_of(text, "mine &amp; yours.csv") == 2);
}

TEST_CASE("Text of a page is escaped") { CHECK(html_text("<a b=\"&\">") == "&lt;a b=&quot;&amp;&quot;&gt;"); }

}  // namespace
}  // namespace shardplan
