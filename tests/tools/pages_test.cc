// HTML pages: one page whatever it holds, and text that cannot become markup.
#include "models/catalog.h"
#include "tests/catch.h"
#include "tools/documents/page.h"
#include "tools/documents/plan_page.h"
#include "tools/documents/plot.h"
#include "tools/documents/simulate_document.h"
#include "tools/documents/validate_page.h"
#include "tools/tables/simulate_table.h"

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

TEST_CASE("A simulation says of how many requests its plots are not") {
  SimulateAnswer answer;
  answer.estimate.request.model = load_model("llama-3.1-8b");
  answer.estimate.request.hardware = load_hardware("h100-sxm");
  answer.result.emplace();
  answer.records.resize(2);
  answer.not_kept = 3000;
  CHECK(simulate_table(answer, {}).find("the first 2 are kept") != std::string::npos);
  CHECK(simulate_table(answer, {}).find("leave out 3,000 more") != std::string::npos);
  answer.not_kept = 0;
  CHECK(simulate_table(answer, {}).find("are kept") == std::string::npos);
}

TEST_CASE("Axes of a plot are cut at round numbers") {
  const std::string svg =
      plot({"of a & b", "s"}, {{.name = "x", .colour = kFirstColour, .points = {{0.3, 1300}, {14, 400}}}});
  for (const char* label : {">5<", ">15<", ">500<", ">1,000<", ">1,500<", ">of a &amp; b<"}) {
    CAPTURE(label);
    CHECK(svg.find(label) != std::string::npos);
  }
  CHECK(svg.find(">2,000<") == std::string::npos);
  CHECK(plot({"nothing", "s"}, {{.name = "x", .colour = kFirstColour}}).empty());
}

TEST_CASE("A plan's page shows its front, its plans and its table") {
  PlanRequest request;
  request.model.name = "a model";
  request.hardware.name = "<machine>";
  PlanResult result;
  Plan plan;
  plan.config.tp = 4;
  plan.serving.tokens_per_second_per_user = 50;
  plan.serving.output_tokens_per_second_per_gpu = 700;
  result.plans = result.pareto = {plan, plan};
  const std::string text = plan_page(request, result, {}, "the <table>");
  CHECK(count_of(text, "<circle") == 2);
  CHECK(text.find("2: tp4") != std::string::npos);
  CHECK(text.find("the &lt;table&gt;") != std::string::npos);
  CHECK(text.find("&lt;machine&gt;") != std::string::npos);
}

TEST_CASE("Text of a page is escaped") { CHECK(html_text("<a b=\"&\">") == "&lt;a b=&quot;&amp;&quot;&gt;"); }

}  // namespace
}  // namespace shardplan
