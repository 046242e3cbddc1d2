#include "tools/commands/estimate.h"

#include "planner/deployment.h"
#include "planner/plan.h"
#include "tools/cli/output.h"
#include "tools/documents/estimate_document.h"
#include "tools/request/ask.h"
#include "tools/request/make_request.h"
#include "tools/request/plan_words.h"
#include "tools/request/request_flags.h"
#include "tools/tables/estimate_table.h"

namespace shardplan {
namespace {

constexpr const char* kHelp =
    "One configuration: what every rank holds, what a step consists of, and the serving it predicts. Of a workload\n"
    "(--isl --osl with --concurrency or --request-rate), or of bare steps (--batch with --context, --prefill-tokens).\n"
    "A configuration that is illegal or does not fit is an answer too.";

EstimateAnswer answer_of(const RequestFlags& flags) {
  EstimateAnswer answer{.request = make_request(flags), .config = {}, .steps = make_bare_steps(flags), .result = {}};
  answer.config = engine_of(answer.request).settled(
      answer.request.model, complete_config(flags.parallel, answer.request.model, flags.machine.gpus.value_or(0)));
  answer.request.gpus = answer.config.gpus();
  answer.result = ask_estimate(answer.request, answer.config, answer.steps);
  return answer;
}

}  // namespace

void run_estimate(const Words& words) {
  RequestFlags flags;
  Output output;
  CommandLine line{"shardplan estimate", kHelp,
                   "shardplan estimate --model qwen3-235b-a22b --hardware h200-sxm --tp 8 --isl 4096 --osl 512 --concurrency 32",
                   request_flags(flags), {}};
  line.groups.insert(line.groups.begin() + 2, step_flags(flags));
  line.groups.push_back(output_flags(output));
  line.groups.insert(line.groups.begin(), plan_source_flags());
  if (!parse_command_line(line, with_plan(words))) return;
  check_output(output);
  const EstimateAnswer answer = answer_of(flags);
  deliver(output, [&] { return estimate_table(answer); }, [&] { return estimate_document(flags, answer); });
}

}  // namespace shardplan
