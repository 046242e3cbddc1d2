// Several replicas, a prefill and a decode pool, faults, and what a run leaves behind.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/json.h"
#include "sim/workloads/closed_loop.h"
#include "sim/workloads/open_loop.h"
#include "tests/base/message_of.h"
#include "tests/catch.h"
#include "tests/sim/deployments.h"

namespace shardplan {
namespace {

SimulationResult closed_loop(std::int64_t concurrency, std::int64_t requests, const std::string& scheduler = "vllm") {
  LinearTimer timer(round_law());
  ClosedLoop source(concurrency, requests, uniform_lengths({.prompt_tokens = 100, .output_tokens = 50}, 0.8), 1);
  SimulationInput input;
  input.pool.timer = &timer;
  input.pool.instance = {.scheduler = scheduler, .limits = {.max_batched_tokens = 256, .max_sequences = 64}, .blocks = 2000};
  input.source = &source;
  return simulate(input);
}

TEST_CASE("Little's law in a closed loop: rate times time in the system is the concurrency") {
  for (const char* scheduler : {"vllm", "sglang", "trtllm"}) {
    const SimulationResult r = closed_loop(16, 1600, scheduler);
    const double rate = static_cast<double>(r.requests.completed) / r.simulated.value();
    CHECK(rate * r.e2e.mean.value() == Approx(r.mean_requests).epsilon(1e-9));
    CHECK(r.mean_requests == Approx(16).epsilon(0.02));   // less only while the last ones drain
  }
}

TEST_CASE("More users wait longer and get more tokens per second out") {
  const SimulationResult few = closed_loop(4, 400);
  const SimulationResult many = closed_loop(32, 3200);
  CHECK(many.ttft.mean > few.ttft.mean);
  CHECK(many.tpot.mean > few.tpot.mean);
  CHECK(many.output_tokens_per_second > few.output_tokens_per_second);
}

// Requests of uneven length on four replicas at 60 % load.
SimulationResult routed(const std::string& router) {
  LinearTimer timer(round_law());
  OpenLoop source(gamma_arrivals(RequestsPerSecond(18), 1.5), lognormal_lengths({.prompt_tokens = 60, .output_tokens = 60}, 1.2), 4000, 3);
  SimulationInput input;
  input.pool = {.instance = {.limits = {.max_batched_tokens = 128, .max_sequences = 12}, .blocks = 2000}, .replicas = 4, .timer = &timer, .router = router};
  input.source = &source;
  return simulate(input);
}

TEST_CASE("Routers that look at load beat those that do not") {
  const SimulationResult blind = routed("round_robin");
  for (const char* router : {"least_requests", "least_tokens", "power_of_two"}) {
    INFO(router);
    const SimulationResult r = routed(router);
    CHECK(r.requests.completed == 4000);
    CHECK(r.ttft.p99 < blind.ttft.p99);
  }
}

TEST_CASE("A prefix-aware router sends a prompt to where its prefix is") {
  const std::vector<std::uint64_t> a = {1, 2}, b = {7, 8};
  const ListedRun run({{0, 40, 1, a}, {1, 40, 1, b}, {500, 40, 1, b}, {1000, 40, 1, a}}, [](SimulationInput& input) {
    input.pool.replicas = 2;
    input.pool.router = "prefix_aware";
  });
  CHECK(run.records.of(2).replica == run.records.of(1).replica);
  CHECK(run.records.of(3).replica == run.records.of(0).replica);
  CHECK(run.records.of(0).replica != run.records.of(1).replica);
  CHECK(run.result.cached_tokens == 64);
}

// One prefill and one decode instance, 1 GB per 100-token cache over 10 GB/s links.
ListedRun paired(std::vector<ListedSource::Row> rows, std::int64_t decode_blocks = 1000) {
  LinearTimer decode_timer(round_law());
  return ListedRun(std::move(rows), [&decode_timer, decode_blocks](SimulationInput& input) {
    input.decode_pool = PoolSettings{.instance = input.pool.instance, .timer = &decode_timer};
    input.decode_pool->instance.blocks = decode_blocks;
    input.pool.instance.limits.max_batched_tokens = 1000;
    input.transfer = {.bytes_per_token_ratio = 1e7, .start_up = Seconds(5e-3), .sender = BytesPerSecond(1e10), .receiver = BytesPerSecond(1e10)};
  });
}

TEST_CASE("Disaggregated: prompt on one instance, cache over the link, decode on the other") {
  const ListedRun run = paired({{0, 100, 3}});
  CHECK(milliseconds(run.records.of(0).ttft()) == 110 + 5 + 100);
  CHECK(milliseconds(run.records.of(0).e2e()) == 215 + 22);
  CHECK(run.result.requests.completed == 1);
}

TEST_CASE("Two caches on their way share the link") {
  const ListedRun run = paired({{0, 100, 2}, {0, 100, 2}});
  // Both prompts in one step of 210 ms, then 2 GB over 10 GB/s.
  CHECK(milliseconds(run.records.of(0).ttft()) == 210 + 5 + 200);
  CHECK(milliseconds(run.records.of(1).ttft()) == 210 + 5 + 200);
}

// Two decode instances over the same links: one is lost while the cache is on its way to it, at 150.
ListedRun with_fault(const ReplicaFault& fault, std::int64_t outputs, std::int64_t decode_replicas, bool requeue = true) {
  LinearTimer decode_timer(round_law());
  return ListedRun({{0, 100, outputs}}, [&](SimulationInput& input) {
    input.decode_pool = PoolSettings{.instance = input.pool.instance, .replicas = decode_replicas, .timer = &decode_timer};
    input.pool.instance.limits.max_batched_tokens = 1000;
    input.transfer = {.bytes_per_token_ratio = 1e7, .start_up = Seconds(5e-3), .sender = BytesPerSecond(1e10), .receiver = BytesPerSecond(1e10)};
    input.faults = {fault};
    input.requeue_lost = requeue;
  });
}

ReplicaFault fault_at(bool of_decode_pool, std::int64_t at, std::int64_t until) {
  return {.replica = 0, .of_decode_pool = of_decode_pool, .at = SimTime(at * kMillisecond), .until = SimTime(until * kMillisecond)};
}

TEST_CASE("A decode instance lost while a cache is on its way to it: the cache goes to another") {
  const ListedRun run = with_fault(fault_at(true, 150, 5000), 3, 2);
  CHECK(run.result.requests.completed == 1);
  CHECK(milliseconds(run.records.of(0).ttft()) == 150 + 5 + 100);   // the prompt is not computed again
  CHECK(milliseconds(run.records.of(0).e2e()) == 255 + 22);
  CHECK(run.result.itl.count == 2);
}

TEST_CASE("With every decode instance lost a cache waits at its source") {
  const ListedRun run = with_fault(fault_at(true, 150, 400), 3, 1);
  CHECK(milliseconds(run.records.of(0).ttft()) == 400 + 5 + 100);
}

TEST_CASE("A prefill instance lost while its cache is on its way: the prompt is computed again when it is back") {
  const ListedRun run = with_fault(fault_at(false, 150, 300), 3, 1);
  CHECK(run.result.requests.completed == 1);
  CHECK(milliseconds(run.records.of(0).ttft()) == 300 + 110 + 5 + 100);
  CHECK(run.result.itl.count == 2);
  CHECK(with_fault(fault_at(false, 150, 300), 3, 1, false).result.requests.failed == 1);
}

// Ten blocks each in the end, of fourteen: the one that came last is preempted there, and waits or computes again.
TEST_CASE("A decode instance lost with a request that it had preempted: whenever it happens both are answered") {
  std::int64_t preempted = 0;
  for (std::int64_t at = 300; at < 3000; at += 20) {
    INFO(at);
    LinearTimer decode_timer(round_law());
    const ListedRun run({{0, 100, 60}, {0, 100, 60}}, [&](SimulationInput& input) {
      input.decode_pool = PoolSettings{.instance = input.pool.instance, .timer = &decode_timer};
      input.decode_pool->instance.blocks = 14;
      input.pool.instance.limits.max_batched_tokens = 1000;
      input.transfer = {.bytes_per_token_ratio = 1e7, .start_up = Seconds(5e-3), .sender = BytesPerSecond(1e10), .receiver = BytesPerSecond(1e10)};
      input.faults = {fault_at(true, at, at + 50)};
      input.requeue_lost = true;
    });
    CHECK(run.result.requests.completed == 2);
    preempted += run.result.requests.preempted;
  }
  CHECK(preempted > 0);
}

TEST_CASE("A decode instance lost with a request half answered: prompt and answer are computed again, the answer goes on") {
  // The first token at 215, two more by 237; the fourth is lost at 240. 103 tokens anew: 113 ms, then the way over.
  const ListedRun run = with_fault(fault_at(true, 240, 250), 6, 1);
  CHECK(run.result.requests.completed == 1);
  CHECK(milliseconds(run.records.of(0).ttft()) == 215);
  CHECK(milliseconds(run.records.of(0).e2e()) == 240 + 113 + 5 + 103 + 2 * 11);
  CHECK(run.result.itl.count == 5);
}

TEST_CASE("A full decode pool holds caches back at their source") {
  // Eight blocks of 16 hold one request of 100 + 3 tokens: the second cache moves when the first request has ended.
  const ListedRun run = paired({{0, 100, 3}, {0, 100, 3}}, 8);
  CHECK(milliseconds(run.records.of(0).e2e()) == 210 + 5 + 100 + 22);
  CHECK(milliseconds(run.records.of(1).ttft()) == 337 + 5 + 100);
}

TEST_CASE("A lost replica's requests go on elsewhere, keeping what was answered") {
  const auto fault = [](bool requeue) {
    return [requeue](SimulationInput& input) {
      input.pool.replicas = 2;
      input.requeue_lost = requeue;
      input.faults = {{.replica = 0, .at = SimTime(50 * kMillisecond), .until = SimTime(1000 * kMillisecond)}};
    };
  };
  const ListedRun kept({{0, 10, 20}, {0, 10, 20}, {100, 10, 5}}, fault(true));
  CHECK(kept.result.requests.completed == 3);
  CHECK(kept.records.of(0).replica == 1);
  CHECK(kept.records.of(2).replica == 1);
  // Its first token was at 20, two more by 42; the third step is lost, 13 tokens are computed anew beside the other's.
  CHECK(milliseconds(kept.records.of(0).ttft()) == 20);
  const ListedRun lost({{0, 10, 20}, {0, 10, 20}, {100, 10, 5}}, fault(false));
  CHECK(lost.result.requests.failed == 1);
  CHECK(lost.result.requests.completed == 2);
}

TEST_CASE("With every replica down requests wait for one to come back") {
  const ListedRun run({{100, 10, 2}}, [](SimulationInput& input) {
    input.faults = {{.replica = 0, .at = SimTime(50 * kMillisecond), .until = SimTime(1000 * kMillisecond)}};
  });
  CHECK(milliseconds(run.records.of(0).ttft()) == 900 + 20);
}

TEST_CASE("Two pipeline stages with two batches in flight: no batch waits when stages are even") {
  class TwoStages : public StepTimer {
   public:
    std::size_t stages() const override { return 2; }
    DecodeTime decode(std::int64_t, std::int64_t) override { return {.low = 0, .high = INT64_MAX, .latency = {.base = SimTime(20 * kMillisecond)}, .stages = lines_}; }
    void mixed(const StepLoad&, MixedTime& out) override {
      out.latency = SimTime(20 * kMillisecond);
      out.stages.assign(2, SimTime(10 * kMillisecond));
    }

   private:
    std::array<TimeLine, 2> lines_{TimeLine{.base = SimTime(10 * kMillisecond)}, TimeLine{.base = SimTime(10 * kMillisecond)}};
  } timer;
  const auto run = [&timer](std::int64_t lanes) {
    // The second prompt does not fit the first one's step.
    return ListedRun({{0, 40, 11}, {0, 40, 11}}, [&timer, lanes](SimulationInput& input) {
      input.pool.timer = &timer;
      input.pool.instance.lanes = lanes;
      input.pool.instance.limits.chunked_prefill = false;
    });
  };
  const ListedRun both = run(2);
  CHECK(milliseconds(both.records.of(0).e2e()) == 20 * 11);
  CHECK(milliseconds(both.records.of(1).e2e()) == 10 + 20 * 11);   // half a cycle behind
  const ListedRun one = run(1);
  CHECK(milliseconds(one.records.of(1).e2e()) == 20 + 20 * 11);
}

TEST_CASE("The timeline is JSON that a viewer opens, records are rows") {
  std::ostringstream timeline_text, records_text;
  {
    Timeline timeline(timeline_text);
    CsvRecords records(records_text);
    const ListedRun run({{0, 100, 30}}, [&](SimulationInput& input) {
      input.timeline = &timeline;
      input.records = &records;
    });
  }
  const Json timeline = Json::parse(timeline_text.str());
  REQUIRE(timeline.is_array());
  std::int64_t steps = 0;
  for (const Json& slice : timeline) {
    if (slice.at("ph") == "X") steps += slice.at("args").at("steps").get<std::int64_t>();
  }
  CHECK(steps == 2 + 29);
  const std::string rows = records_text.str();
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 2);
  CHECK_THAT(rows, contains_text("0,100,30,0,0,0,0.000000000,0.000000000,0.120000000,0.439000000"));
}

TEST_CASE("Goodput counts requests that meet every target") {
  const auto with = [](ServiceTargets targets) {
    return ListedRun({{0, 10, 3}, {1, 60, 3}}, [targets](SimulationInput& input) { input.targets = targets; }).result.good_requests;
  };
  CHECK(with({}) == 2);
  CHECK(with({.ttft = Seconds(0.05)}) == 1);
  CHECK(with({.ttft = Seconds(0.05), .e2e = Seconds(0.001)}) == 0);
}

}  // namespace
}  // namespace shardplan
