// An instance that goes on with another number of attention groups.
#include <rapidcheck.h>

#include <cmath>

#include "tests/catch.h"
#include "tests/sim/deployments.h"

namespace shardplan {
namespace {

// Groups share a step, which the timer sees as if all were as busy as the busiest: half as much for each of twice as
// many.
LinearLaw law_of(std::int64_t groups) {
  LinearLaw law = round_law();
  law.per_decode = SimTime(law.per_decode.value() / groups);
  law.per_prompt_token = SimTime(law.per_prompt_token.value() / groups);
  return law;
}

ScaleEvent to_groups(std::int64_t groups, StepTimer& timer, std::int64_t at, std::int64_t prepare, std::int64_t pause) {
  return {.at = SimTime(at * kMillisecond),
          .prepare = SimTime(prepare * kMillisecond),
          .pause = SimTime(pause * kMillisecond),
          .groups = groups,
          .timer = &timer};
}

TEST_CASE("a request under way goes on after the pause, and pays for nothing else") {
  LinearTimer two(law_of(2));
  const std::vector<ListedSource::Row> rows{{.milliseconds = 0, .prompt_tokens = 4, .output_tokens = 20}};
  const ListedRun plain(rows, [](SimulationInput&) {});
  const ListedRun scaled(rows, [&](SimulationInput& input) { input.scales = {to_groups(2, two, 50, 10, 100)}; });
  CHECK(scaled.result.requests.completed == 1);
  CHECK(milliseconds(scaled.records.of(0).last_token - plain.records.of(0).last_token) == Approx(100));
  REQUIRE(scaled.result.scales.size() == 1);
  const ScaleRecord& record = scaled.result.scales[0];
  // Prepared at 60 ms; the step under way (11 ms each after a prompt of 14 ms) ends at 69 ms.
  CHECK(milliseconds(record.asked) == Approx(50));
  CHECK(milliseconds(record.paused) == Approx(69));
  CHECK(milliseconds(record.resumed) == Approx(169));
  CHECK(record.lost == 0);
  CHECK(record.groups_before == 1);
}

TEST_CASE("new groups take newcomers, and steps cost what the new layout's do") {
  LinearTimer two(law_of(2));
  const std::vector<ListedSource::Row> rows{{.milliseconds = 0, .prompt_tokens = 4, .output_tokens = 40},
                                            {.milliseconds = 200, .prompt_tokens = 4, .output_tokens = 10}};
  const ListedRun scaled(rows, [&](SimulationInput& input) {
    input.scales = {to_groups(2, two, 10, 0, 50)};
    input.pool.router = "least_requests";
  });
  // Two requests in two groups: 10 + 2*0.5 ms per step, as for one in one group before.
  CHECK(milliseconds(scaled.records.of(1).tpot()) == Approx(11));
}

TEST_CASE("up and down again is the first layout's speed") {
  LinearTimer two({.fixed = SimTime(3 * kMillisecond),
                   .per_decode = SimTime(0),
                   .per_position = SimTime(0),
                   .per_prompt_token = SimTime(kMillisecond)});
  const std::vector<ListedSource::Row> rows{{.milliseconds = 0, .prompt_tokens = 4, .output_tokens = 8},
                                            {.milliseconds = 300, .prompt_tokens = 4, .output_tokens = 8},
                                            {.milliseconds = 800, .prompt_tokens = 4, .output_tokens = 8}};
  const ListedRun run(rows, [&](SimulationInput& input) {
    input.scales = {to_groups(2, two, 150, 0, 50), to_groups(1, *input.pool.timer, 600, 0, 50)};
  });
  CHECK(run.result.requests.completed == 3);
  CHECK(milliseconds(run.records.of(0).tpot()) == Approx(11));
  CHECK(milliseconds(run.records.of(1).tpot()) == Approx(3));
  CHECK(run.records.of(2).tpot() == run.records.of(0).tpot());
}

struct Lost {
  ListedRun run;
  Lost(bool drain, std::int64_t timeout, bool requeue = true)
      : run({{.milliseconds = 0, .prompt_tokens = 4, .output_tokens = 30},
             {.milliseconds = 0, .prompt_tokens = 4, .output_tokens = 30},
             {.milliseconds = 120, .prompt_tokens = 4, .output_tokens = 5}},
            [&](SimulationInput& input) {
              input.pool.instance.groups = 2;
              ScaleEvent event = to_groups(1, *input.pool.timer, 100, 0, 50);
              event.drain = drain;
              event.drain_timeout = SimTime(timeout * kMillisecond);
              input.scales = {event};
              input.requeue_lost = requeue;
            }) {}
};

TEST_CASE("requests of a group that goes start over with their answers so far, or fail") {
  const Lost lost(false, 0);
  CHECK(lost.run.result.requests.completed == 3);
  CHECK(lost.run.result.output_tokens == 65);
  REQUIRE(lost.run.result.scales.size() == 1);
  CHECK(lost.run.result.scales[0].lost == 1);
  // Beside the pause of 50 ms its prompt and nearly ten answers are computed again, in a step of both.
  const ListedRun plain({{.milliseconds = 0, .prompt_tokens = 4, .output_tokens = 30},
                         {.milliseconds = 0, .prompt_tokens = 4, .output_tokens = 30}},
                        [](SimulationInput& input) { input.pool.instance.groups = 2; });
  const double later = milliseconds(lost.run.records.of(0).last_token - plain.records.of(0).last_token);
  CHECK(later > 50 + 8);
  CHECK(later < 50 + 30);
  const Lost failed(false, 0, false);
  CHECK(failed.run.result.requests.completed == 2);
  CHECK(failed.run.result.requests.failed == 1);
}

TEST_CASE("drained, nothing is lost and newcomers wait; what does not end in time changes nothing") {
  const Lost drained(true, 1000);
  CHECK(drained.run.result.requests.completed == 3);
  CHECK(drained.run.result.scales[0].lost == 0);
  CHECK_FALSE(drained.run.result.scales[0].given_up);
  CHECK(drained.run.records.of(2).first_token > drained.run.result.scales[0].resumed);
  const Lost given_up(true, 20);
  CHECK(given_up.run.result.scales[0].given_up);
  CHECK(given_up.run.result.scales[0].groups == 2);
  CHECK(given_up.run.result.requests.completed == 3);
  CHECK(milliseconds(given_up.run.records.of(2).first_token) < 200);
}

TEST_CASE("a drain ends with the last request inside, not with those on their way in") {
  const std::vector<ListedSource::Row> rows{{.milliseconds = 0, .prompt_tokens = 4, .output_tokens = 3},
                                            {.milliseconds = 95, .prompt_tokens = 4, .output_tokens = 3}};
  for (const bool twice : {false, true}) {
    const ListedRun run(rows, [&](SimulationInput& input) {
      input.server.fixed = Seconds(0.01);
      ScaleEvent event = to_groups(2, *input.pool.timer, 100, 0, 50);
      event.drain = true;
      event.drain_timeout = SimTime(9000 * kMillisecond);
      input.scales = {event};
      if (twice) input.scales.push_back(event);
    });
    CHECK(run.result.requests.completed == 2);
    for (const ScaleRecord& record : run.result.scales) CHECK_FALSE(record.given_up);
    CHECK(milliseconds(run.records.of(1).first_token) < 400);
  }
}

TEST_CASE("a request whose group goes while it is on its way is counted once") {
  std::vector<ListedSource::Row> rows;
  for (std::int64_t i = 0; i < 8; ++i) rows.push_back({.milliseconds = 95, .prompt_tokens = 4, .output_tokens = 3});
  const ListedRun run(rows, [&](SimulationInput& input) {
    input.pool.instance.groups = 4;
    input.pool.router_sees_groups = false;
    input.server.fixed = Seconds(0.01);
    input.scales = {to_groups(2, *input.pool.timer, 100, 0, 50), to_groups(4, *input.pool.timer, 200, 0, 50)};
    input.scales[1].drain = true;  // ends only where all that was counted has left
    input.scales[1].drain_timeout = SimTime(1000 * kMillisecond);
  });
  CHECK(run.result.requests.completed == 8);
  REQUIRE(run.result.scales.size() == 2);
  CHECK_FALSE(run.result.scales[1].given_up);
}

TEST_CASE("events that the run is over before are told as such") {
  const std::vector<ListedSource::Row> rows{{.milliseconds = 0, .prompt_tokens = 4, .output_tokens = 3}};
  const ListedRun run(rows, [&](SimulationInput& input) {
    input.scales = {to_groups(2, *input.pool.timer, 5, 1000, 50), to_groups(3, *input.pool.timer, 100000, 0, 50)};
  });
  REQUIRE(run.result.scales.size() == 2);
  for (const ScaleRecord& record : run.result.scales) {
    CHECK_FALSE(record.ended);
    CHECK(record.groups_before == 1);
  }
}

TEST_CASE("after a drain that was given up the next event is of the layout that stayed") {
  const std::vector<ListedSource::Row> rows{{.milliseconds = 0, .prompt_tokens = 4, .output_tokens = 60}};
  const ListedRun run(rows, [&](SimulationInput& input) {
    ScaleEvent never = to_groups(2, *input.pool.timer, 50, 0, 50);
    never.drain = true;
    never.drain_timeout = SimTime(20 * kMillisecond);
    ScaleEvent next = to_groups(3, *input.pool.timer, 100, 0, 50);
    next.otherwise = {{.groups = 1, .prepare = SimTime(0), .pause = SimTime(80 * kMillisecond)}};
    input.scales = {never, next};
  });
  REQUIRE(run.result.scales.size() == 2);
  CHECK(run.result.scales[0].given_up);
  CHECK(milliseconds(run.result.scales[1].resumed - run.result.scales[1].paused) == Approx(80));
}

std::vector<ListedSource::Row> drawn_rows() {
  std::vector<ListedSource::Row> rows;
  std::int64_t at = 0;
  for (int left = *rc::gen::inRange(1, 25); left > 0; --left) {
    at += *rc::gen::inRange(0, 60);
    rows.push_back(
        {.milliseconds = at, .prompt_tokens = *rc::gen::inRange(1, 90), .output_tokens = *rc::gen::inRange(1, 40)});
  }
  return rows;
}

TEST_CASE("whatever is scaled when, every request ends with its tokens, twice alike, in runs or step by step") {
  CHECK(rc::check([] {
    const std::vector<ListedSource::Row> rows = drawn_rows();
    std::int64_t tokens = 0;
    for (const ListedSource::Row& row : rows) tokens += row.output_tokens;
    struct Drawn {
      std::int64_t at, prepare, pause, groups;
      bool drain;
    };
    std::vector<Drawn> events;
    std::int64_t time = 0;
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
      time += *rc::gen::inRange(0, 300);
      events.push_back({time, *rc::gen::inRange(0, 50), *rc::gen::inRange(0, 200), *rc::gen::inRange(1, 5),
                        *rc::gen::inRange(0, 3) == 0});
    }
    const auto groups = *rc::gen::inRange(1, 5);
    const Seconds server(0.001 * *rc::gen::element(0, 7, 60));
    const bool async = *rc::gen::arbitrary<bool>();
    const bool sees_groups = *rc::gen::arbitrary<bool>();
    const auto router = *rc::gen::element<std::string>("round_robin", "least_requests");
    const auto run = [&](bool skip_ahead) {
      LinearTimer other(law_of(2));
      return ListedRun(rows, [&](SimulationInput& input) {
        input.pool.instance.groups = groups;
        input.server.fixed = server;
        input.pool.instance.async_scheduling = async;
        input.pool.instance.skip_ahead = skip_ahead;
        input.pool.router = router;
        input.pool.router_sees_groups = sees_groups;
        for (const Drawn& e : events) {
          ScaleEvent event = to_groups(e.groups, e.groups % 2 == 0 ? static_cast<StepTimer&>(other) : *input.pool.timer,
                                       e.at, e.prepare, e.pause);
          event.drain = e.drain;
          event.drain_timeout = SimTime(400 * kMillisecond);
          input.scales.push_back(event);
        }
      });
    };
    const ListedRun first = run(true);
    RC_ASSERT(first.result.requests.completed == static_cast<std::int64_t>(rows.size()));
    RC_ASSERT(first.result.output_tokens == tokens);
    double present = 0;  // Little: request-seconds
    for (const RequestRecord& record : first.records.all) present += to_seconds(record.e2e()).value();
    RC_ASSERT(std::abs(first.result.mean_requests * first.result.simulated.value() - present) <= 1e-6 * present);
    const ListedRun again = run(true);
    const ListedRun slow = run(false);
    for (const ListedRun* other : {&again, &slow}) {
      RC_ASSERT(other->result.scales.size() == first.result.scales.size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        RC_ASSERT(other->records.of(static_cast<std::int64_t>(i)).last_token ==
                  first.records.of(static_cast<std::int64_t>(i)).last_token);
      }
    }
  }));
}

}  // namespace
}  // namespace shardplan
