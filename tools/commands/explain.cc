#include "tools/commands/explain.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/errors.h"
#include "planner/plan.h"
#include "tools/cli/output.h"
#include "tools/documents/explain_document.h"
#include "tools/documents/request_document.h"
#include "tools/request/ask.h"
#include "tools/request/make_request.h"
#include "tools/request/request_flags.h"
#include "tools/tables/explain_table.h"

namespace shardplan {
namespace {

constexpr const char* kHelp =
    "Asks again what a plan document answered, and says why the winner wins, what binds it and what the others failed\n"
    "on. The document is what shardplan plan --format json writes.";

// The flags that the document was asked with, checked as if they were typed.
void read_request(const std::string& file, RequestFlags& flags) {
  const Words words = read_request_words(file);
  CommandLine line{file, "", "", request_flags(flags), {}};
  line.groups.push_back(search_flags(flags));
  try {
    (void)parse_command_line(line, words);
  } catch (const InputError& error) {
    throw InputError(file + ": /request", error.what(), "");
  }
}

ExplainAnswer answer_of(const RequestFlags& flags) {
  ExplainAnswer answer{.request = make_request(flags), .result = {}, .pools = {}, .why = {}, .winner = {}};
  PlanAnswer asked = ask_plan(answer.request, flags.search);
  answer.result = std::move(asked.result);
  answer.pools = std::move(asked.pools);
  answer.why = explain(answer.request, answer.result);
  if (answer.result.plans.empty()) return answer;
  const Plan& best = answer.result.plans.front();
  PlanRequest at_its_load = answer.request;
  at_its_load.workload.concurrency = std::max<std::int64_t>(1, std::llround(best.serving.concurrency));
  at_its_load.workload.requests_per_second.reset();
  answer.winner = ask_estimate(at_its_load, best.config, {});
  return answer;
}

}  // namespace

void run_explain(const Words& words) {
  std::string file;
  Output output;
  const CommandLine line{"shardplan explain",
                         kHelp,
                         "shardplan explain plan.json",
                         {output_flags(output)},
                         {{"PLAN.json", "the plan document", true, [&file](const std::string& text) { file = text; }}}};
  if (!parse_command_line(line, words)) return;
  check_output(output);
  RequestFlags flags;
  read_request(file, flags);
  const ExplainAnswer answer = answer_of(flags);
  deliver(output, [&] { return explain_table(answer); }, [&] { return explain_document(flags, answer); });
}

}  // namespace shardplan
