// Whatever the deployment and the traffic: nothing is lost, Little's law holds, a second run and a run without skipping
// give the same.
#include <rapidcheck.h>

#include <algorithm>
#include <tuple>

#include "sim/routers/router.h"
#include "sim/workloads/closed_loop.h"
#include "sim/workloads/open_loop.h"
#include "sim/workloads/sessions.h"
#include "tests/catch.h"
#include "tests/sim/deployments.h"

namespace shardplan {
namespace {

struct Scenario {
  SimulationInput input;
  LinearLaw law;
  int workload = 0;
  std::int64_t requests = 1;
  std::int64_t concurrency = 1;
  double rate = 1;
  std::uint64_t seed = 0;
};

InstanceSettings any_instance(bool pair) {
  InstanceSettings instance;
  instance.scheduler = pair ? "vllm" : (*rc::gen::elementOf(schedulers())).name;
  instance.limits.max_batched_tokens = *rc::gen::inRange<std::int64_t>(8, 80);
  instance.limits.max_sequences = *rc::gen::inRange<std::int64_t>(1, 9);
  instance.limits.chunked_prefill = *rc::gen::inRange(0, 4) > 0;
  instance.limits.admit_full_prompt = *rc::gen::arbitrary<bool>();
  instance.limits.mixed_chunk = *rc::gen::arbitrary<bool>();
  instance.limits.balance_steps = *rc::gen::inRange<std::int64_t>(0, 4);
  instance.limits.hold_steps = *rc::gen::inRange<std::int64_t>(0, 4);
  instance.groups = *rc::gen::inRange<std::int64_t>(1, 4);
  instance.lanes = *rc::gen::inRange<std::int64_t>(1, 4);
  instance.block_tokens = 4;
  instance.blocks = *rc::gen::inRange<std::int64_t>(10, 60);
  instance.async_scheduling = *rc::gen::arbitrary<bool>();
  return instance;
}

Scenario any_scenario() {
  Scenario s;
  const bool pair = *rc::gen::inRange(0, 4) == 0;
  s.input.pool.instance = any_instance(pair);
  s.input.pool.replicas = *rc::gen::inRange<std::int64_t>(1, 4);
  s.input.pool.router = (*rc::gen::elementOf(routers())).name;
  s.input.pool.router_sees_groups = *rc::gen::arbitrary<bool>();
  if (pair) {
    s.input.decode_pool = PoolSettings{.instance = any_instance(true), .replicas = *rc::gen::inRange<std::int64_t>(1, 4), .router = "least_requests"};
    s.input.transfer = {.bytes_per_token_ratio = 1000, .start_up = Seconds(1e-3), .sender = BytesPerSecond(1e6), .receiver = BytesPerSecond(5e5),
                        .fabric = BytesPerSecond(2e6)};
  } else if (*rc::gen::arbitrary<bool>()) {
    s.input.tiers = {.host_blocks = *rc::gen::inRange<std::int64_t>(0, 60), .remote_blocks = *rc::gen::inRange<std::int64_t>(0, 200),
                     .bytes_per_block_ratio = 1000, .host_link = BytesPerSecond(1e6), .remote_link = BytesPerSecond(1e5)};
  }
  for (std::int64_t faults = *rc::gen::inRange<std::int64_t>(-3, 4); faults > 0; --faults) {
    const SimTime at(*rc::gen::inRange<std::int64_t>(0, 2000) * kMillisecond);
    s.input.faults.push_back({.replica = 0, .of_decode_pool = pair && *rc::gen::arbitrary<bool>(), .at = at,
                              .until = at + SimTime(*rc::gen::inRange<std::int64_t>(0, 3000) * kMillisecond)});
    s.input.requeue_lost = *rc::gen::arbitrary<bool>();
  }
  s.law = {.fixed = SimTime(*rc::gen::inRange<std::int64_t>(1, 20) * kMillisecond), .per_decode = SimTime(*rc::gen::inRange<std::int64_t>(0, kMillisecond)),
           .per_position = SimTime(*rc::gen::inRange<std::int64_t>(0, 1'000'000)), .per_prompt_token = SimTime(*rc::gen::inRange<std::int64_t>(0, kMillisecond))};
  if (*rc::gen::arbitrary<bool>()) {
    static const RoutingDraws kDraws({{0.5, 0.4}, {0.5, 0.4}, {1, 0.7}}, 3, 1);
    s.input.pool.instance.routing = &kDraws;
    s.law.routed = s.law.fixed / 2;
  }
  s.workload = *rc::gen::inRange(0, 3);
  s.requests = *rc::gen::inRange<std::int64_t>(1, 60);
  s.concurrency = *rc::gen::inRange<std::int64_t>(1, 20);
  s.rate = *rc::gen::inRange(1, 60);
  s.seed = *rc::gen::arbitrary<std::uint64_t>();
  return s;
}

void tell(const Scenario& s) {
  const InstanceSettings& i = s.input.pool.instance;
  RC_LOG() << i.scheduler << (s.input.decode_pool ? " and a decode pool" : "") << ", router " << s.input.pool.router << ", replicas " << s.input.pool.replicas
           << ", groups " << i.groups << ", lanes " << i.lanes << ", blocks " << i.blocks << ", tokens " << i.limits.max_batched_tokens << ", seats "
           << i.limits.max_sequences << (i.async_scheduling ? ", async" : "") << (i.limits.chunked_prefill ? ", chunked" : "")
           << (i.limits.admit_full_prompt ? ", full prompt" : "") << ", hold " << i.limits.hold_steps << ", faults " << s.input.faults.size() << ", workload "
           << s.workload << ", requests " << s.requests << std::endl;
}

std::unique_ptr<RequestSource> source_of(const Scenario& s) {
  auto lengths = lognormal_lengths({.prompt_tokens = 20, .output_tokens = 15}, 0.8);
  if (s.workload == 0) return std::make_unique<OpenLoop>(gamma_arrivals(RequestsPerSecond(s.rate), 2), std::move(lengths), s.requests, s.seed);
  if (s.workload == 1) return std::make_unique<ClosedLoop>(s.concurrency, s.requests, std::move(lengths), s.seed);
  const SessionSettings settings{.sessions = s.requests, .turns = 2, .concurrency = s.seed % 2 == 0 ? 0 : s.concurrency, .system_tokens = 9, .hash_tokens = 4, .pause = Seconds(0.2), .seed = s.seed};
  return std::make_unique<Sessions>(settings, poisson_arrivals(RequestsPerSecond(s.rate)), std::move(lengths));
}

struct Outcome {
  SimulationResult result;
  KeptRecords records;
};

Outcome run(Scenario scenario, bool skip) {
  Outcome out;
  LinearTimer timer(scenario.law);
  const auto source = source_of(scenario);
  SimulationInput& input = scenario.input;
  input.source = source.get();
  input.records = &out.records;
  input.pool.timer = &timer;
  input.pool.instance.skip_ahead = skip;
  if (input.decode_pool) {
    input.decode_pool->timer = &timer;
    input.decode_pool->instance.skip_ahead = skip;
  }
  out.result = simulate(input);
  return out;
}

auto key_of(const RequestRecord& r) {
  return std::tuple(r.id, r.prompt_tokens, r.output_tokens, r.cached_tokens, r.replica, r.preemptions, r.arrival, r.scheduled, r.first_token, r.last_token);
}

// Ends at the same picosecond on two replicas may come in either order.
void sort_by_id(Outcome& outcome) {
  std::sort(outcome.records.all.begin(), outcome.records.all.end(), [](const RequestRecord& a, const RequestRecord& b) { return a.id < b.id; });
}

void require_same(Outcome a, Outcome b) {
  sort_by_id(a);
  sort_by_id(b);
  RC_ASSERT(a.records.all.size() == b.records.all.size());
  for (std::size_t i = 0; i < a.records.all.size(); ++i) RC_ASSERT(key_of(a.records.all[i]) == key_of(b.records.all[i]));
  RC_ASSERT(a.result.steps == b.result.steps);
  RC_ASSERT(a.result.simulated == b.result.simulated);
  RC_ASSERT(a.result.requests.preempted == b.result.requests.preempted);
  RC_ASSERT(a.result.itl.count == b.result.itl.count);
  RC_ASSERT(a.result.itl.p50 == b.result.itl.p50 && a.result.itl.p99 == b.result.itl.p99 && a.result.itl.max == b.result.itl.max);
  RC_ASSERT(a.result.recomputed_tokens == b.result.recomputed_tokens && a.result.evicted_blocks == b.result.evicted_blocks);
  RC_ASSERT(a.result.series.size() == b.result.series.size());
  for (std::size_t i = 0; i < a.result.series.size(); ++i) {
    RC_ASSERT(a.result.series[i].running == b.result.series[i].running);
    RC_ASSERT(a.result.series[i].kv_use_ratio == b.result.series[i].kv_use_ratio);
  }
}

TEST_CASE("Skipping ahead over decode steps changes no result") {
  CHECK(rc::check([] {
    const Scenario scenario = any_scenario();
    tell(scenario);
    const Outcome skipping = run(scenario, true);
    const Outcome stepping = run(scenario, false);
    require_same(skipping, stepping);
    RC_ASSERT(skipping.result.events <= stepping.result.events);
  }));
}

TEST_CASE("A second run gives the same bits") {
  CHECK(rc::check([] {
    const Scenario scenario = any_scenario();
    tell(scenario);
    require_same(run(scenario, true), run(scenario, true));
  }));
}

// One queue, first come first served: whoever came first starts first, so that nobody waits for ever.
TEST_CASE("Nobody overtakes on the way to the first step") {
  CHECK(rc::check([] {
    Scenario scenario = any_scenario();
    scenario.input.pool.replicas = 1;
    scenario.input.pool.instance.groups = 1;
    scenario.input.decode_pool.reset();
    scenario.input.faults.clear();
    scenario.input.tiers = {};
    tell(scenario);
    Outcome out = run(scenario, true);
    sort_by_id(out);
    for (std::size_t i = 1; i < out.records.all.size(); ++i) {
      RC_ASSERT(out.records.all[i - 1].arrival > out.records.all[i].arrival || out.records.all[i - 1].scheduled <= out.records.all[i].scheduled);
    }
  }));
}

// The same requests, closer together: they wait longer, on average. Chunks that fall otherwise may gain a few per cent back.
TEST_CASE("A higher rate is never easier") {
  CHECK(rc::check([] {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const std::string scheduler = *rc::gen::element<std::string>("vllm", "sglang", "trtllm", "orca");
    double before = 0;
    for (const double rate : {2.0, 4.0, 8.0, 16.0, 32.0}) {
      LinearTimer timer(round_law());
      OpenLoop source(even_arrivals(RequestsPerSecond(rate)), lognormal_lengths({.prompt_tokens = 40, .output_tokens = 30}, 0.5), 200, seed);
      SimulationInput input;
      input.pool.timer = &timer;
      input.pool.instance = {.scheduler = scheduler, .limits = {.max_batched_tokens = 256, .max_sequences = 8}, .blocks = 1000};
      input.source = &source;
      const SimulationResult r = simulate(input);
      RC_ASSERT(r.requests.completed == 200);
      RC_ASSERT(r.e2e.mean.value() > before * 0.97);
      before = r.e2e.mean.value();
    }
  }));
}

TEST_CASE("Nothing is lost or counted twice, and Little's law holds") {
  CHECK(rc::check([] {
    const Scenario scenario = any_scenario();
    tell(scenario);
    const Outcome out = run(scenario, true);
    const RequestCounts& n = out.result.requests;
    RC_ASSERT(n.arrived == n.completed + n.rejected + n.failed);
    RC_ASSERT(static_cast<std::int64_t>(out.records.all.size()) == n.completed);
    if (scenario.workload < 2) RC_ASSERT(n.arrived == scenario.requests);
    std::int64_t tokens = 0;
    double present = 0;
    for (const RequestRecord& r : out.records.all) {
      tokens += r.output_tokens;
      present += to_seconds(r.e2e()).value();
      RC_ASSERT(r.arrival <= r.scheduled && r.scheduled <= r.first_token && r.first_token <= r.last_token);
    }
    RC_ASSERT(tokens == out.result.output_tokens);
    RC_ASSERT(n.failed > 0 || out.result.itl.count == tokens - n.completed);
    if (n.failed > 0 || n.completed == 0) return;
    // Everything came and went: the time integral of the number present is the sum of the times there.
    RC_ASSERT(std::abs(out.result.mean_requests * out.result.simulated.value() - present) <= 1e-9 * present + 1e-12);
    if (scenario.workload == 1) RC_ASSERT(out.result.mean_requests <= static_cast<double>(scenario.concurrency) * (1 + 1e-9));
  }));
}

}  // namespace
}  // namespace shardplan
