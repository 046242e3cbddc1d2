// Worked examples on the round law: a step takes 10 ms, and 1 ms for each prompt token and each decode.
#include "tests/base/message_of.h"
#include "tests/catch.h"
#include "tests/sim/deployments.h"

namespace shardplan {
namespace {

const auto kAsIs = [](SimulationInput&) {};

TEST_CASE("One request: chunks of 64 and 36, then a step per token") {
  const ListedRun run({{0, 100, 3}}, kAsIs);
  const RequestRecord& r = run.records.of(0);
  CHECK(milliseconds(r.ttft()) == 74 + 46);
  CHECK(milliseconds(r.tpot()) == 11);
  CHECK(milliseconds(r.e2e()) == 120 + 22);
  CHECK(run.result.steps == 4);
  CHECK(run.result.requests.completed == 1);
  CHECK(run.result.output_tokens_per_second == Approx(3 / 0.142));
  CHECK(run.result.itl.max.value() == Approx(0.011));
}

TEST_CASE("The server path: a fixed time, and a tokeniser that takes one prompt after another") {
  const ListedRun run({{0, 10, 1}, {0, 10, 1}}, [](SimulationInput& input) { input.server = {.fixed = Seconds(0.1), .per_prompt_token = Seconds(0.002)}; });
  CHECK(milliseconds(run.records.of(0).ttft()) == 20 + 100 + 20);
  CHECK(milliseconds(run.records.of(1).ttft()) == 40 + 100 + 20);
}

TEST_CASE("An arrival during step n joins step n+1, or n+2 when steps are planned one ahead") {
  // The first request decodes at 20-31, 31-42, 42-53; the second arrives at 33, its step takes 10 + 1 + 10.
  for (const bool async : {false, true}) {
    const ListedRun run({{0, 10, 100}, {33, 10, 1}}, [async](SimulationInput& input) { input.pool.instance.async_scheduling = async; });
    CHECK(milliseconds(run.records.of(1).ttft()) == (async ? 41 : 30));
  }
}

TEST_CASE("Decodes go on beside a chunked prompt, and stall behind whole prompts that come first") {
  const std::vector<ListedSource::Row> rows = {{0, 4, 20}, {15, 200, 2}};
  const ListedRun chunked(rows, kAsIs);
  CHECK(chunked.result.itl.max.value() == Approx(0.010 + 0.064));   // 63 prompt tokens and a decode
  const ListedRun first(rows, [](SimulationInput& input) { input.pool.instance.scheduler = "sglang"; });
  CHECK(first.result.itl.max.value() == Approx(0.074 * 3 + 0.018 + 0.012));   // 64, 64, 64, 8, then both decode
  CHECK(first.records.of(1).ttft() < chunked.records.of(1).ttft());
}

TEST_CASE("Out of blocks the request admitted last is preempted, keeps its answer and computes the rest anew") {
  // 6 blocks of 4: prompts of 8 take 2 each; both decode until blocks 3 of both are full.
  const ListedRun run({{0, 8, 8}, {0, 8, 8}}, [](SimulationInput& input) {
    input.pool.instance.blocks = 6;
    input.pool.instance.block_tokens = 4;
  });
  CHECK(run.result.requests.completed == 2);
  CHECK(run.result.requests.preempted == 1);
  CHECK(run.records.of(1).preemptions == 1);
  // One step for both prompts (26 ms), four of two decodes, then the first alone: three steps of 11.
  CHECK(milliseconds(run.records.of(0).e2e()) == 26 + 4 * 12 + 3 * 11);
  CHECK(run.result.recomputed_tokens == 12);
  CHECK(milliseconds(run.records.of(1).e2e()) == 26 + 4 * 12 + 3 * 11 + (10 + 13) + 2 * 11);
}

TEST_CASE("A scheduler that reserves the output never preempts") {
  const ListedRun run({{0, 8, 8}, {0, 8, 8}}, [](SimulationInput& input) {
    input.pool.instance.scheduler = "trtllm";
    input.pool.instance.blocks = 6;
    input.pool.instance.block_tokens = 4;
  });
  CHECK(run.result.requests.preempted == 0);
  CHECK(milliseconds(run.records.of(0).e2e()) == 18 + 7 * 11);
  CHECK(milliseconds(run.records.of(1).e2e()) == 18 + 7 * 11 + 18 + 7 * 11);
}

TEST_CASE("A batching wait holds prompts back beside decodes for so many steps") {
  for (const std::int64_t hold : {0, 3}) {
    const ListedRun run({{0, 10, 50}, {25, 10, 1}}, [hold](SimulationInput& input) {
      input.pool.instance.scheduler = "trtllm";
      input.pool.instance.limits.hold_steps = hold;
    });
    CHECK(milliseconds(run.records.of(1).ttft()) == 6 + static_cast<double>(hold) * 11 + 21);
  }
}

TEST_CASE("A static batch is closed until its longest output is done") {
  const ListedRun run({{0, 10, 3}, {5, 10, 1}}, [](SimulationInput& input) { input.pool.instance.scheduler = "static"; });
  CHECK(milliseconds(run.records.of(0).e2e()) == 20 + 22);
  CHECK(milliseconds(run.records.of(1).ttft()) == 42 - 5 + 20);
}

TEST_CASE("A shared prefix is computed once") {
  const std::vector<std::uint64_t> prefix = {1, 2, 3};
  const ListedRun run({{0, 50, 1, prefix}, {500, 50, 1, prefix}}, kAsIs);
  CHECK(milliseconds(run.records.of(0).ttft()) == 60);
  CHECK(milliseconds(run.records.of(1).ttft()) == 10 + 2);
  CHECK(run.records.of(1).cached_tokens == 48);
  const ListedRun off({{0, 50, 1, prefix}, {500, 50, 1, prefix}}, [](SimulationInput& input) { input.pool.instance.prefix_caching = false; });
  CHECK(milliseconds(off.records.of(1).ttft()) == 60);
}

TEST_CASE("A prefix that was evicted comes back from host memory over its link, or from the store") {
  // Four blocks of 16: the second prompt throws the first one's prefix out, the third finds it a tier down. 48 tokens are
  // three blocks; each is 1 MB over 100 MB/s: 30 ms, then the rest of the prompt, 2 tokens: 12 ms.
  const std::vector<std::uint64_t> a = {1, 2, 3}, b = {7, 8, 9};
  const auto with = [&](std::int64_t host, std::int64_t remote) {
    return ListedRun({{0, 50, 1, a}, {500, 50, 1, b}, {1000, 50, 1, a}}, [host, remote](SimulationInput& input) {
      input.pool.instance.blocks = 4;
      input.tiers = {.host_blocks = host, .remote_blocks = remote, .bytes_per_block_ratio = 1e6, .host_link = BytesPerSecond(1e8), .remote_link = BytesPerSecond(5e7)};
    });
  };
  CHECK(milliseconds(with(0, 0).records.of(2).ttft()) == 60);
  const ListedRun host = with(100, 0);
  CHECK(milliseconds(host.records.of(2).ttft()) == 30 + 12);
  CHECK(host.result.host_loaded_blocks == 3);
  CHECK(host.records.of(2).cached_tokens == 48);
  const ListedRun store = with(0, 100);
  CHECK(milliseconds(store.records.of(2).ttft()) == 60 + 12);
  // Host memory of two blocks passes the oldest down: one from the store beside two from the host, over links of their own.
  const ListedRun both = with(2, 100);
  CHECK(both.result.host_loaded_blocks + both.result.remote_loaded_blocks == 3);
  CHECK(both.result.remote_loaded_blocks >= 1);
  CHECK(both.result.requests.completed == 3);
}

TEST_CASE("Attention groups share a step: it lasts as long as the busiest one's") {
  // Both groups' prompts in one step, priced as if both had 40 tokens: 10 + 2*40.
  const ListedRun run({{0, 40, 1}, {0, 4, 1}}, [](SimulationInput& input) { input.pool.instance.groups = 2; });
  CHECK(milliseconds(run.records.of(0).ttft()) == 90);
  const ListedRun spread({{0, 40, 1}, {0, 4, 1}}, [](SimulationInput& input) {
    input.pool.instance.groups = 2;
    input.pool.instance.busiest_ratio = 0;
  });
  CHECK(milliseconds(spread.records.of(0).ttft()) == 54);
}

TEST_CASE("What can never fit is rejected up front and counted, the rest is served") {
  const ListedRun run({{0, 16'001, 1}, {0, 10, 1}, {1, 15'990, 11}, {2, 15'990, 12}}, kAsIs);
  CHECK(run.result.requests.arrived == 4);
  CHECK(run.result.requests.rejected == 2);
  CHECK(run.result.requests.rejected_too_large == 2);
  CHECK(run.result.requests.completed == 2);
  const ListedRun whole({{0, 65, 1}, {0, 64, 1}}, [](SimulationInput& input) {
    input.pool.instance.scheduler = "orca";
    input.pool.instance.limits.chunked_prefill = false;
  });
  CHECK(whole.result.requests.rejected == 1);
  CHECK(whole.result.requests.completed == 1);
}

TEST_CASE("An overload ends with a report: the deployment is full and says so") {
  std::vector<ListedSource::Row> rows;
  for (int i = 0; i < 500; ++i) rows.push_back({i, 50, 50});
  const ListedRun run(rows, [](SimulationInput& input) { input.max_waiting = 20; });
  CHECK(run.result.requests.arrived == 500);
  CHECK(run.result.requests.rejected > 400);
  CHECK(run.result.requests.rejected_too_large == 0);
  CHECK(run.result.requests.completed + run.result.requests.rejected == 500);
}

TEST_CASE("Names that are not known are refused with the nearest one") {
  CHECK_THAT(message_of([] { (void)make_scheduler("vlm"); }), contains_text("vllm"));
  CHECK_THAT(message_of([] { ListedRun run({{0, 1, 1}}, [](SimulationInput& input) { input.pool.router = "round_robbin"; input.pool.replicas = 2; }); }),
             contains_text("round_robin"));
}

}  // namespace
}  // namespace shardplan
