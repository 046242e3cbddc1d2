#include "planner/serving.h"

#include <rapidcheck.h>

#include <cmath>

#include "models/catalog.h"
#include "planner/targets.h"
#include "tests/catch.h"
#include "tests/costmodel/any_config.h"
#include "tests/costmodel/setup.h"

namespace shardplan {
namespace {

// A deployment on H200 with its ledger, and the pool of cache cut down where a test wants it to bind.
class Served {
 public:
  explicit Served(const ParallelConfig& config = {.tp = 2}, const char* model = "llama-3.1-8b",
                  std::int64_t pool_gib = 0)
      : setup_(load_model(model), config, load_hardware("h200-sxm"), PriceMode::kCalibrated),
        ledger_(setup_.ledger(
            {}, {.largest_step = {.prefill_sequences = 1, .prefill_tokens = 8192}, .request_tokens = 2048})) {
    for (StageLedger& stage : ledger_.stages) {
      if (pool_gib > 0) stage.kv_pool_bytes = Bytes(pool_gib * kGiB);
    }
  }
  [[nodiscard]] ServingInput input() const {
    return {.pricer = setup_.pricer(),
            .stages = setup_.stages(),
            .ledger = ledger_,
            .config = setup_.config(),
            .times = {},
            .scheduler = {},
            .mixes = setup_.lowered().mixes()};
  }
  [[nodiscard]] ServingEstimate closed(double requests, const Workload& workload = {}) const {
    return estimate_closed(input(), workload, requests);
  }
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }
  [[nodiscard]] const Setup& setup() const { return setup_; }

 private:
  Setup setup_;
  Ledger ledger_;
};

TEST_CASE("Little's law holds in the closed loop") {
  // lambda * (prefill + (osl-1)*TPOT) = running requests.
  const Served served;
  for (const double requests : {1.0, 7.0, 32.0, 250.0}) {
    const Workload workload{.isl = 1024, .osl = 256};
    const ServingEstimate e = served.closed(requests, workload);
    const double residence = e.ttft_prefill.value() + 255 * e.tpot.value();
    CHECK(e.requests_per_second * residence == Approx(e.running).epsilon(1e-9));
    CHECK(e.output_tokens_per_second == Approx(256 * e.requests_per_second));
    CHECK(e.tokens_per_second_per_user == Approx(1 / e.tpot.value()));
  }
}

TEST_CASE("The slowdown by prompts satisfies its own equation") {
  // TPOT = Td + lambda*P*TPOT*(N-k)/N with k = 1 + N/osl prompts taken together.
  const Served served;
  const ServingEstimate e = served.closed(64);
  const double tpot = e.tpot.value();
  CHECK(tpot ==
        Approx(e.decode_step.value() + e.requests_per_second * e.prefill_extra.value() * tpot * (64 - 1.25) / 64).epsilon(1e-9));
}

TEST_CASE("Launches of prompts stretch others only by what the decode step before does not hide") {
  const Served served;
  const auto extra = [&](double launch, std::int64_t osl) {
    ServingInput input = served.input();
    input.times.host.per_step = input.times.host.per_sequence = input.times.host.per_layer = Seconds(0);
    input.times.host.prefill_launch_per_layer = Seconds(launch);
    const ServingEstimate e = estimate_closed(input, {.isl = 128, .osl = osl}, 16);
    return std::pair(e.prefill_extra.value(), e.decode_step.value());
  };
  const auto [bare, decode] = extra(0, 4000);
  CHECK(extra(decode / 32, 4000).first == Approx(bare).epsilon(1e-2));          // nearly all steps before are captured
  CHECK(extra(4 * decode / 32, 4000).first == Approx(2 * decode).epsilon(0.05));  // of four, one hidden and one the decodes' own
  // Every other step has prompts, two at a time: half a step is hidden.
  const double shorter = extra(0, 16).second;
  CHECK(extra(4 * shorter / 32, 16).first == Approx((4 - 0.5 - 1) * shorter / 2).epsilon(0.05));
}

TEST_CASE("One request alone decodes at the pace of its own steps") {
  const Served served;
  const ServingEstimate e = served.closed(1);
  CHECK(e.tpot.value() == Approx(e.decode_step.value()));
  CHECK(e.ttft_queue == Seconds(0));
  CHECK(e.e2e.value() == Approx((e.ttft + e.tpot * 255.0).value()));
}

TEST_CASE("More requests at once make each slower and the whole faster, until the cache is full") {
  const Served served({.tp = 2}, "llama-3.1-8b", 4);
  const auto capacity = static_cast<double>(served.ledger().request_capacity(1024 + 128));
  REQUIRE(capacity > 32);
  ServingEstimate last = served.closed(1);
  for (double requests = 2; requests <= capacity; requests *= 2) {
    const ServingEstimate e = served.closed(requests);
    CHECK(e.bound == "concurrency");
    CHECK(e.tpot > last.tpot);
    CHECK(e.output_tokens_per_second > last.output_tokens_per_second);
    last = e;
  }
}

TEST_CASE("Beyond the cache requests wait, and throughput stays") {
  const Served served({.tp = 2}, "llama-3.1-8b", 4);
  const auto capacity = static_cast<double>(served.ledger().request_capacity(1024 + 128));
  const ServingEstimate full = served.closed(capacity);
  const ServingEstimate twice = served.closed(2 * capacity);
  CHECK(twice.bound == "kv cache");
  CHECK(twice.running == capacity);
  CHECK(twice.requests_per_second == Approx(full.requests_per_second));
  CHECK(twice.tpot.value() == Approx(full.tpot.value()));
  // Little's law for the queue: (C - N)/lambda more.
  CHECK((twice.ttft - full.ttft).value() == Approx(capacity / full.requests_per_second));
}

TEST_CASE("Seats bind where the cache does not") {
  const Served served;
  ServingInput input = served.input();
  input.scheduler.max_sequences = 16;
  const ServingEstimate e = estimate_closed(input, {}, 64);
  CHECK(e.bound == "seats");
  CHECK(e.running == 16);
}

TEST_CASE("A rate runs as many requests as a closed loop that completes it") {
  const Served served;
  const ServingEstimate closed = served.closed(20);
  const ServingEstimate open = estimate_serving(served.input(), {.requests_per_second = closed.requests_per_second});
  CHECK(open.feasible);
  CHECK(open.bound == "rate");
  CHECK(open.requests_per_second == Approx(closed.requests_per_second).epsilon(1e-4));
}

TEST_CASE("At the same number running, rate and closed loop take the same time per token") {
  const Served served;
  for (const double rate : {1.0, 5.0, 10.0}) {
    const ServingEstimate open = estimate_serving(served.input(), {.requests_per_second = rate});
    REQUIRE(open.feasible);
    const ServingEstimate closed = served.closed(std::max(1.0, open.running));
    if (open.running >= 1) CHECK(open.tpot.value() == Approx(closed.tpot.value()).epsilon(1e-6));
  }
}

TEST_CASE("A rate beyond what the deployment completes is told with both numbers") {
  const Served served({.tp = 2}, "llama-3.1-8b", 4);
  const ServingEstimate e = estimate_serving(served.input(), {.requests_per_second = 1e6});
  CHECK_FALSE(e.feasible);
  CHECK(e.reason.find("requests/s per instance exceed") != std::string::npos);
  CHECK(e.reason.find("running requests") != std::string::npos);
}

TEST_CASE("A request that does not fit is told") {
  const Served served({.tp = 2}, "llama-3.1-8b", 1);
  const ServingEstimate e = served.closed(4, {.isl = 1'000'000, .osl = 16});
  CHECK_FALSE(e.feasible);
  CHECK(e.reason == "the cache holds no request of this length");
}

TEST_CASE("Replicas share the concurrency and add up") {
  ParallelConfig config{.tp = 2};
  const ServingEstimate one = estimate_serving(Served(config).input(), {.concurrency = 16});
  config.replicas = 4;
  const ServingEstimate four = estimate_serving(Served(config).input(), {.concurrency = 64});
  CHECK(four.output_tokens_per_second == Approx(4 * one.output_tokens_per_second));
  CHECK(four.output_tokens_per_second_per_gpu == Approx(one.output_tokens_per_second_per_gpu));
  CHECK(four.tpot == one.tpot);
}

TEST_CASE("The best concurrency meets the targets, and a quarter more does not") {
  const Served served;
  const Targets targets{.ttft = {}, .tpot = Seconds(12e-3), .e2e = {}};
  const double best = best_concurrency(served.input(), {}, targets);
  REQUIRE(best >= 1);
  CHECK(served.closed(best).tpot <= *targets.tpot);
  CHECK(served.closed(std::ceil(best * 1.25)).tpot > *targets.tpot);
  CHECK(best_concurrency(served.input(), {}, {.ttft = {}, .tpot = Seconds(1e-6), .e2e = {}}) == 0);
}

TEST_CASE("A confidence leaves room for what the prediction may be off by") {
  CHECK(deviations_of(0.5) == Approx(0).margin(1e-12));
  CHECK(deviations_of(0.9) == Approx(kP90).epsilon(1e-9));
  CHECK(deviations_of(0.99) / deviations_of(0.9) == Approx(3.7469 / 1.5332).epsilon(1e-4));   // t with 4 degrees of freedom
  const Served served;
  Targets targets{.tpot = Seconds(0.02)};
  const double plain = best_concurrency(served.input(), {}, targets);
  double before = plain;
  for (const double confidence : {0.6, 0.8, 0.95}) {
    targets.deviations = deviations_of(confidence);
    const double requests = best_concurrency(served.input(), {}, targets);
    CHECK(requests < before);
    before = requests;
    ServingEstimate e = served.closed(requests);
    e.spread = serving_spread(served.input(), {}, e);
    CHECK(!target_miss(e, targets));
    CHECK(e.tpot.value() * std::exp(targets.deviations * e.spread.tpot) == Approx(0.02).epsilon(0.05));
  }
  ServingEstimate over = served.closed(plain);
  over.spread = serving_spread(served.input(), {}, over);
  REQUIRE(target_miss(over, targets));
  CHECK(target_miss(over, targets)->message.find("TPOT and its margin") == 0);
}

TEST_CASE("With stages, a token takes the longer of all stages in turn and the slowest for each batch") {
  const Served served({.pp = 4, .tp = 2});
  const ServingEstimate e = served.closed(256, {.isl = 16, .osl = 1024});
  const BatchShape quarter{.decode_sequences = 64, .decode_context = 16 + 512};
  const HostCost host;
  double slowest = 0;
  double sum = 0;
  for (const StageLayers& stage : served.setup().stages()) {
    const double seconds = served.setup().pricer().stage(stage, quarter).seconds.value() +
                           host.per_layer.value() * static_cast<double>(stage.count);
    slowest = std::max(slowest, seconds);
    sum += seconds;
  }
  sum += 3 * served.setup().pricer().hop(quarter).value();
  const double hosted = host.per_step.value() + 64 * host.per_sequence.value();  // of each batch, on every stage
  CHECK(e.decode_step.value() == Approx(std::max(4 * (slowest + hosted), sum + hosted)));
}

TEST_CASE("Whatever the load, latencies are finite and throughput never falls as requests are added") {
  const Served served({.tp = 4});
  CHECK(rc::check([&] {
    const std::int64_t isl = any_of(1, 20000);
    const Workload workload{.isl = isl, .osl = any_of(1, 3000), .prefix = any_of(0, isl)};
    const auto requests = static_cast<double>(any_of(1, 400));
    const ServingEstimate e = served.closed(requests, workload);
    RC_PRE(e.feasible);
    for (const Seconds t : {e.ttft, e.tpot, e.e2e, e.decode_step}) RC_ASSERT(std::isfinite(t.value()) && t.value() > 0);
    RC_ASSERT(e.tpot.value() >= e.decode_step.value() * (1 - 1e-12));
    const ServingEstimate more = served.closed(requests + static_cast<double>(any_of(1, 50)), workload);
    RC_ASSERT(more.output_tokens_per_second >= e.output_tokens_per_second * 0.98);  // whole sequences and chunks: steps
  }));
}

}  // namespace
}  // namespace shardplan
