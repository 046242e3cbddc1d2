#include <algorithm>
#include <cmath>

#include "sim/workloads/closed_loop.h"
#include "sim/workloads/open_loop.h"
#include "sim/workloads/sessions.h"
#include "tests/base/message_of.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

std::vector<double> gaps_of(ArrivalProcess& process, int count) {
  Random random(11, "arrivals");
  std::vector<double> gaps;
  SimTime last;
  for (int i = 0; i < count; ++i) {
    const SimTime next = process.next(random);
    CHECK_FALSE(next < last);
    gaps.push_back(to_seconds(next - last).value());
    last = next;
  }
  return gaps;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double variation_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return std::sqrt(squares / static_cast<double>(values.size())) / mean;
}

TEST_CASE("Arrivals have their rate and their burstiness") {
  struct Expected { std::unique_ptr<ArrivalProcess> process; double cv; };
  std::vector<Expected> all;
  all.push_back({even_arrivals(RequestsPerSecond(5)), 0});
  all.push_back({poisson_arrivals(RequestsPerSecond(5)), 1});
  all.push_back({gamma_arrivals(RequestsPerSecond(5), 3), 3});
  all.push_back({gamma_arrivals(RequestsPerSecond(5), 0.5), 0.5});
  for (const Expected& e : all) {
    const auto gaps = gaps_of(*e.process, 40'000);
    CHECK(mean_of(gaps) == Approx(0.2).epsilon(0.05));
    CHECK(variation_of(gaps) == Approx(e.cv).margin(0.15));
  }
}

TEST_CASE("A ramp from 0 to 10 requests/s in 100 s sends 500 on its way and 10 each second after") {
  const auto process = ramp_arrivals(RequestsPerSecond(0), RequestsPerSecond(10), Seconds(100));
  Random random(2, "arrivals");
  int on_the_way = 0, after = 0;
  for (double t = 0; t < 300;) {
    t = to_seconds(process->next(random)).value();
    if (t < 100) ++on_the_way;
    else if (t < 300) ++after;
  }
  CHECK(on_the_way == Approx(500).margin(70));
  CHECK(after == Approx(2000).margin(140));
}

TEST_CASE("Uniform lengths fill [0.8, 1.0] of nominal") {
  const auto lengths = uniform_lengths({.prompt_tokens = 1000, .output_tokens = 10}, 0.8);
  Random random(1, "lengths");
  std::int64_t low = 1'000'000, high = 0;
  double sum = 0;
  for (int i = 0; i < 20'000; ++i) {
    const RequestLengths l = lengths->next(random);
    low = std::min(low, l.prompt_tokens);
    high = std::max(high, l.prompt_tokens);
    sum += static_cast<double>(l.prompt_tokens);
    CHECK((l.output_tokens >= 8 && l.output_tokens <= 10));
  }
  CHECK(low == 800);
  CHECK(high == 1000);
  CHECK(sum / 20'000 == Approx(900).margin(2));
}

TEST_CASE("Lognormal lengths have the mean that was asked, an empirical sample gives its own pairs") {
  Random random(1, "lengths");
  const auto lognormal = lognormal_lengths({.prompt_tokens = 2000, .output_tokens = 300}, 1.0);
  double sum = 0;
  for (int i = 0; i < 50'000; ++i) sum += static_cast<double>(lognormal->next(random).prompt_tokens);
  CHECK(sum / 50'000 == Approx(2000).epsilon(0.03));
  const auto empirical = empirical_lengths({{.prompt_tokens = 3, .output_tokens = 4}, {.prompt_tokens = 5, .output_tokens = 6}});
  for (int i = 0; i < 50; ++i) {
    const RequestLengths l = empirical->next(random);
    CHECK(l.output_tokens == l.prompt_tokens + 1);
  }
}

TEST_CASE("A closed loop holds C requests and no more") {
  ClosedLoop loop(2, 3, fixed_lengths({.prompt_tokens = 5, .output_tokens = 6}), 0);
  RequestSpec spec;
  CHECK(loop.next_arrival() == SimTime(0));
  loop.take(spec);
  loop.take(spec);
  CHECK_FALSE(loop.next_arrival());
  loop.ended(spec, SimTime(70));
  CHECK(loop.next_arrival() == SimTime(70));
  loop.take(spec);
  CHECK(spec.arrival == SimTime(70));
  loop.ended(spec, SimTime(90));
  CHECK_FALSE(loop.next_arrival());   // three in all
}

TEST_CASE("A session's next turn begins with all that was said, and shares its blocks") {
  const SessionSettings settings{.sessions = 2, .turns = 2, .system_tokens = 32, .hash_tokens = 16, .pause = Seconds(1), .seed = 4};
  Sessions sessions(settings, even_arrivals(RequestsPerSecond(1)), fixed_lengths({.prompt_tokens = 20, .output_tokens = 12}));
  RequestSpec first, other, second;
  sessions.take(first);
  sessions.take(other);
  CHECK(first.prompt_tokens == 52);
  CHECK(first.hashes.size() == 4);
  CHECK(std::equal(first.hashes.begin(), first.hashes.begin() + 2, other.hashes.begin()));
  CHECK(first.hashes[2] != other.hashes[2]);
  CHECK_FALSE(sessions.next_arrival());
  sessions.ended(first, SimTime(5'000'000'000'000));
  REQUIRE(sessions.next_arrival());
  CHECK(*sessions.next_arrival() > SimTime(5'000'000'000'000));
  sessions.take(second);
  CHECK(second.session == first.session);
  CHECK(second.prompt_tokens == 52 + 12 + 20);
  CHECK(std::equal(first.hashes.begin(), first.hashes.end(), second.hashes.begin()));
  sessions.ended(second, SimTime(9'000'000'000'000));
  CHECK_FALSE(sessions.next_arrival());   // the last turn of that session
}

TEST_CASE("Workloads out of range are refused") {
  CHECK_THAT(message_of([] { (void)poisson_arrivals(RequestsPerSecond(0)); }), contains_text("arrival rate"));
  CHECK_THAT(message_of([] { (void)gamma_arrivals(RequestsPerSecond(1), 0); }), contains_text("burstiness"));
  CHECK_THAT(message_of([] { (void)fixed_lengths({.prompt_tokens = 0}); }), contains_text("request lengths"));
  CHECK_THAT(message_of([] { (void)uniform_lengths({}, 1.5); }), contains_text("length ratio"));
  CHECK_THAT(message_of([] { ClosedLoop loop(0, 1, fixed_lengths({}), 0); }), contains_text("concurrency"));
  CHECK_THAT(message_of([] { (void)empirical_lengths({}); }), contains_text("empty"));
}

}  // namespace
}  // namespace shardplan
