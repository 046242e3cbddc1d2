#include "sim/event_queue.h"

#include <rapidcheck.h>

#include <algorithm>
#include <tuple>

#include "tests/catch.h"

namespace shardplan {
namespace {

class Log : public EventTarget {
 public:
  void on_event(const Event& event) override { seen.push_back(event.argument); }
  std::vector<std::int64_t> seen;
};

TEST_CASE("Events happen by time, then priority, then the order of scheduling") {
  EventQueue events;
  Log log;
  const auto at = [&](std::int64_t time, EventPriority priority, std::int64_t argument) {
    events.schedule({.time = SimTime(time), .priority = priority, .target = &log, .argument = argument});
  };
  at(20, EventPriority::kStep, 5);
  at(10, EventPriority::kStep, 3);
  at(10, EventPriority::kArrival, 1);
  at(10, EventPriority::kArrival, 2);
  at(10, EventPriority::kSample, 4);
  while (!events.empty()) events.run_next();
  CHECK(log.seen == std::vector<std::int64_t>{1, 2, 3, 4, 5});
  CHECK(events.now() == SimTime(20));
  CHECK(events.happened() == 5);
}

TEST_CASE("A cancelled event does not happen, and an id is stale afterwards") {
  EventQueue events;
  Log log;
  const EventId first = events.schedule({.time = SimTime(1), .target = &log, .argument = 1});
  const EventId second = events.schedule({.time = SimTime(2), .target = &log, .argument = 2});
  CHECK(events.cancel(first));
  CHECK_FALSE(events.cancel(first));
  const EventId third = events.schedule({.time = SimTime(3), .target = &log, .argument = 3});   // the slot is used again
  CHECK_FALSE(events.pending(first));
  CHECK(events.pending(third));
  while (!events.empty()) events.run_next();
  CHECK(log.seen == std::vector<std::int64_t>{2, 3});
  CHECK_FALSE(events.pending(second));
  CHECK_FALSE(events.cancel({}));
}

TEST_CASE("Any mix of scheduling and cancelling gives the sorted order of what is left") {
  CHECK(rc::check([] {
    EventQueue events;
    Log log;
    std::vector<std::tuple<std::int64_t, int, std::int64_t>> expected;
    const auto count = *rc::gen::inRange<std::int64_t>(0, 60);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto time = *rc::gen::inRange<std::int64_t>(0, 20);
      const auto priority = *rc::gen::inRange(0, 5);
      const EventId id = events.schedule({.time = SimTime(time), .priority = static_cast<EventPriority>(priority), .target = &log, .argument = i});
      if (*rc::gen::inRange(0, 3) == 0) events.cancel(id);
      else expected.emplace_back(time, priority, i);
    }
    std::sort(expected.begin(), expected.end());
    while (!events.empty()) events.run_next();
    RC_ASSERT(log.seen.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) RC_ASSERT(log.seen[i] == std::get<2>(expected[i]));
  }));
}

}  // namespace
}  // namespace shardplan
