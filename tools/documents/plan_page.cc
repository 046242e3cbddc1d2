#include "tools/documents/plan_page.h"

#include <fmt/format.h>

#include "tools/documents/page.h"
#include "tools/documents/plot.h"

namespace shardplan {
namespace {

void add(Curve& to, const ServingEstimate& s, std::string title) {
  to.points.emplace_back(s.tokens_per_second_per_user, s.output_tokens_per_second_per_gpu);
  to.titles.push_back(std::move(title));
}

}  // namespace

std::string plan_page(const PlanRequest& request, const PlanResult& result, const std::optional<PoolsResult>& pools,
                      const std::string& table) {
  std::vector<Curve> curves{{.name = "front", .colour = kFirstColour},
                            {.name = "plans", .colour = kSecondColour, .dots = true}};
  for (const Plan& plan : result.pareto) add(curves[0], plan.serving, short_text(plan.config));
  for (std::size_t i = 0; i < result.plans.size(); ++i)
    add(curves[1], result.plans[i].serving, fmt::format("{}: {}", i + 1, short_text(result.plans[i].config)));
  if (pools && !pools->plans.empty()) {
    Curve& pairs = curves.emplace_back(Curve{.name = "pools", .colour = kThirdColour, .dots = true});
    for (const PoolsPlan& plan : pools->plans)
      add(pairs, plan.serving, short_text(plan.prefill.plan.config) + " | " + short_text(plan.decode.plan.config));
  }
  const PlotAxes axes{"output tokens/s of a GPU", "output tokens/s of a user"};
  return page("shardplan plan", "<h1>" + html_text(request.model.name) + " on " + html_text(request.hardware.name) +
                                    "</h1>\n<div class=\"plots\">" + plot(axes, curves) + "</div>\n<pre>" +
                                    html_text(table) + "</pre>\n");
}

}  // namespace shardplan
