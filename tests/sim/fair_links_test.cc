#include "sim/fair_links.h"

#include "tests/catch.h"

namespace shardplan {
namespace {

struct Flow {
  double start = 0;      // s
  double gigabytes = 0;
  std::vector<std::int32_t> route;
  double end = 0;        // s, of the golden
};

struct Case {
  const char* name;
  std::vector<double> gigabytes_per_second;
  std::vector<Flow> flows;
};

// Finish times of SimGrid 3.32: network/model CM02, TCP-gamma 0, cross-traffic off, latency 0.
const std::vector<Case>& simgrid_cases() {
  static const std::vector<Case> kCases = {
      {"two on one link", {100}, {{0, 100, {0}, 1.5}, {0, 50, {0}, 1.0}}},
      {"three that start one after another", {100}, {{0, 100, {0}, 1.75}, {0.5, 100, {0}, 2.25}, {1.0, 25, {0}, 1.75}}},
      {"one across three links", {100, 50, 80},
       {{0, 100, {0, 1}, 5.2}, {0, 100, {0, 2}, 3.092105263158}, {0, 100, {1}, 5.2}, {0, 100, {2}, 3.092105263158}, {0.25, 60, {0, 1, 2}, 3.85}}},
      {"senders and receivers", {10, 10, 10, 10},
       {{0, 20, {0, 2}, 6.266666666667}, {0, 20, {0, 3}, 6.266666666667}, {0, 20, {1, 3}, 3.366666666667}, {0.7, 5, {1, 2}, 2.0},
        {1.1, 40, {0, 2}, 9.0}, {3.0, 10, {0, 3}, 6.633333333333}}},
      {"two tiers", {25, 25, 25, 12.5, 40},
       {{0, 30, {0, 3, 4}, 5.5}, {0.1, 30, {1, 3, 4}, 5.6}, {0.2, 30, {2, 4}, 2.182210526316}, {0.3, 10, {0, 4}, 1.230263157895},
        {0.4, 10, {1, 4}, 1.317105263158}, {0.5, 10, {2, 3}, 2.9}, {2, 50, {0, 1, 2}, 4.667894736842}}},
  };
  return kCases;
}

// Starts flows at their times and notes when they end.
class Flows : public EventTarget, public TransferOwner {
 public:
  explicit Flows(const Case& c) : case_(c), links_(events_, capacities(c)), ends_(c.flows.size(), -1) {
    for (std::size_t i = 0; i < c.flows.size(); ++i) {
      events_.schedule({.time = sim_time(Seconds(c.flows[i].start)), .target = this, .argument = static_cast<std::int64_t>(i)});
    }
  }
  std::vector<double> run() {
    while (!events_.empty()) events_.run_next();
    CHECK(links_.active() == 0);
    return ends_;
  }
  void on_event(const Event& event) override {
    const Flow& flow = case_.flows[static_cast<std::size_t>(event.argument)];
    links_.start(Bytes(static_cast<std::int64_t>(flow.gigabytes * 1e9)), flow.route, *this, event.argument);
  }
  void on_transferred(std::int64_t tag) override { ends_[static_cast<std::size_t>(tag)] = to_seconds(events_.now()).value(); }
  double moved(std::int32_t link) { return links_.moved_bytes_ratio(link); }

 private:
  static std::vector<BytesPerSecond> capacities(const Case& c) {
    std::vector<BytesPerSecond> out;
    for (const double rate : c.gigabytes_per_second) out.emplace_back(rate * 1e9);
    return out;
  }
  const Case& case_;
  EventQueue events_;
  FairLinks links_;
  std::vector<double> ends_;
};

TEST_CASE("Transfers end when SimGrid says") {
  for (const Case& c : simgrid_cases()) {
    INFO(c.name);
    Flows flows(c);
    const std::vector<double> ends = flows.run();
    for (std::size_t i = 0; i < ends.size(); ++i) CHECK(ends[i] == Approx(c.flows[i].end).epsilon(1e-9));
  }
}

TEST_CASE("Every byte crosses every link of its route once") {
  for (const Case& c : simgrid_cases()) {
    Flows flows(c);
    (void)flows.run();
    for (std::size_t link = 0; link < c.gigabytes_per_second.size(); ++link) {
      double expected = 0;
      for (const Flow& flow : c.flows) {
        for (const std::int32_t l : flow.route) expected += l == static_cast<std::int32_t>(link) ? flow.gigabytes * 1e9 : 0;
      }
      CHECK(flows.moved(static_cast<std::int32_t>(link)) == Approx(expected).margin(2.0 * static_cast<double>(c.flows.size())));
    }
  }
}

TEST_CASE("A transfer without a link, or without bytes, arrives at once") {
  const Case c{"nothing", {1}, {{1.0, 5, {}, 1.0}, {2.0, 0, {0}, 2.0}}};
  Flows flows(c);
  CHECK(flows.run() == std::vector<double>{1.0, 2.0});
}

}  // namespace
}  // namespace shardplan
