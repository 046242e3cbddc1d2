// A plan of a document, read back as flags, is the configuration that was planned.
#include "tools/request/plan_words.h"

#include "base/file.h"
#include "tests/base/message_of.h"
#include "tests/base/scratch_folder.h"
#include "tests/catch.h"
#include "tools/documents/plan_document.h"
#include "tools/request/ask.h"
#include "tools/request/make_request.h"

namespace shardplan {
namespace {

RequestFlags parsed(const Words& words, bool searches) {
  RequestFlags flags;
  CommandLine line{"shardplan test", "", "", request_flags(flags), {}};
  if (searches) line.groups.push_back(search_flags(flags));
  (void)parse_command_line(line, words);
  return flags;
}

TEST_CASE("Every plan of a document reads back as the configuration that was planned") {
  const ScratchFolder folder;
  const Words asked[] = {
      {"--model", "deepseek-v3", "--hardware", "h200-sxm", "--gpus", "16", "--tpot-ms", "30", "--top", "20"},
      {"--model", "qwen3-235b-a22b", "--hardware", "h200-sxm", "--gpus", "16", "--isl", "60000", "--objective",
       "interactivity", "--top", "40"},
      {"--model", "llama-3.1-405b", "--hardware", "gb200-nvl72", "--gpus", "16", "--isl", "200000", "--tp", "8",
       "--dcp", "4", "--helix", "--top", "20"}};
  for (const Words& words : asked) {
    RequestFlags flags = parsed(words, true);
    const PlanRequest request = make_request(flags);
    const PlanResult result = ask_plan(request, {}).result;
    REQUIRE(!result.plans.empty());
    write_file_atomically(folder.path("plan.json"), plan_document(flags, request, result, std::nullopt));
    for (std::size_t i = 0; i < result.plans.size(); ++i) {
      INFO(short_text(result.plans[i].config));
      const Words back = with_plan({"--plan", folder.path("plan.json"), "--rank", std::to_string(i + 1)});
      const RequestFlags read = parsed(back, false);
      CHECK(complete_config(read.parallel, request.model, 0) == result.plans[i].config);
      CHECK(make_request(read).max_batched_tokens == result.plans[i].max_batched_tokens);
    }
  }
}

TEST_CASE("What is typed goes before what the document says") {
  const ScratchFolder folder;
  RequestFlags flags =
      parsed({"--model", "llama-3.1-8b", "--hardware", "h100-sxm", "--gpus", "2", "--tpot-ms", "20"}, true);
  const PlanRequest request = make_request(flags);
  const std::string file = folder.path("plan.json");
  write_file_atomically(file, plan_document(flags, request, ask_plan(request, {}).result, std::nullopt));
  const RequestFlags read = parsed(with_plan({"--plan=" + file, "--concurrency", "7", "--isl", "99"}), false);
  CHECK(read.workload.concurrency == 7);
  CHECK(read.workload.isl == 99);
  CHECK(read.workload.tpot_ms == 20.0);
  CHECK_THAT(message_of([&] { (void)with_plan({"--rank", "1"}); }), contains_text("--plan beside it"));
  CHECK_THAT(message_of([&] {
               (void)with_plan({"--plan", file, "--rank", "99"});
             }),
             contains_text("--rank: 99 is not in"));
  CHECK_THAT(message_of([&] { (void)with_plan({"--plan", file, "--rank", "x"}); }), contains_text("is no rank"));
}

}  // namespace
}  // namespace shardplan
