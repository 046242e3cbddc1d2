// What is drawn at random for measurements: experts of tokens, and tokens of the vocabulary.
#include <cmath>
#include <numeric>
#include <set>

#include "calibrate/cuda/operands.h"
#include "calibrate/cuda/sampling.h"
#include "calibrate/run/node_case.h"
#include "calibrate/run/node_timer.h"
#include "calibrate/small_models.h"
#include "costmodel/rank_shares.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

const ExpertLoad kZipf{.kind = ExpertLoad::Kind::kZipf, .exponent_ratio = 0.8, .counts = {}};

TEST_CASE("a token takes distinct experts, each as often as it is popular") {
  constexpr std::int64_t kTokens = 20'000;
  for (const ExpertLoad& load : {ExpertLoad{}, kZipf}) {
    for (const auto& [experts, per_token] : {std::pair<std::int64_t, std::int64_t>{16, 1}, {16, 4}, {8, 8}}) {
      const DrawnRouting routing = draw_routing(load, experts, per_token, kTokens);
      REQUIRE(routing.tokens() == kTokens);
      std::vector<double> taken(static_cast<std::size_t>(experts), 0);
      for (std::int64_t t = 0; t < kTokens; ++t) {
        const auto first = routing.picks.begin() + t * per_token;
        CHECK(std::ssize(std::set<std::int32_t>(first, first + per_token)) == per_token);
        for (auto it = first; it != first + per_token; ++it) ++taken[static_cast<std::size_t>(*it)];
      }
      const auto popularity = expert_popularity(load, experts, per_token);
      for (std::size_t e = 0; e < taken.size(); ++e) {
        const double deviation = std::sqrt(popularity[e] * (1 - popularity[e]) / kTokens);
        CHECK(std::abs(taken[e] / kTokens - popularity[e]) <= 5 * deviation + 1e-9);
      }
    }
  }
  CHECK(draw_routing(kZipf, 16, 4, 50).picks == draw_routing(kZipf, 16, 4, 50).picks);
}

TEST_CASE("the busiest rank's rows are what the load model expects") {
  constexpr std::int64_t kTokens = 4096;
  for (const ExpertLoad& load : {ExpertLoad{}, kZipf}) {
    for (const std::int64_t ep : {1, 4, 5}) {
      const ExpertLoadModel model(load, 64, 6, ep, 0);
      const RankRows rows = busiest_rank_rows(draw_routing(load, 64, 6, kTokens), load, 64, ep);
      CHECK(static_cast<double>(rows.rows()) == Approx(model.busiest_rows(kTokens)).epsilon(0.03));
      CHECK(static_cast<double>(rows.tiles(64)) == Approx(model.busiest_tiles(kTokens, 64)).epsilon(0.05));
      CHECK(rows.tiles(1) == rows.rows());
      const RankRows few = busiest_rank_rows(draw_routing(load, 64, 6, 20), load, 64, ep);
      CHECK(static_cast<double>(few.active()) == Approx(model.busiest_hits(20)).epsilon(0.25));
      CHECK(few.active() <= few.rows());
      CHECK(few.fullest() <= 20);
    }
  }
}

TEST_CASE("a measured rank takes the tokens that have one of its experts, and rows as many as the record says") {
  const DrawnRouting routing = draw_routing(kZipf, 32, 3, 200);
  const RankRows rows = busiest_rank_rows(routing, kZipf, 32, 4);
  const auto experts = cuda::measured_experts(routing, rows.first_expert, std::ssize(rows.of_expert));
  CHECK(experts.rows == rows.of_expert);
  CHECK(experts.all_rows() == rows.rows());
  CHECK((experts.tokens > 0 && experts.tokens < 200));
  REQUIRE(std::ssize(experts.experts) == 3 * experts.tokens);
  for (std::int64_t t = 0; t < experts.tokens; ++t) {
    const auto first = experts.experts.begin() + 3 * t;
    CHECK(std::any_of(first, first + 3, [](std::int32_t pick) { return pick >= 0; }));
  }
}

TEST_CASE("experts are measured under each load, sampling as the likeliest token and as a draw") {
  const RunPlan plan{.models = {small_moe()},
                     .configs = {{.tp = 1}, {.tp = 2, .ep = 2}},
                     .shapes = {{.decode_sequences = 40, .decode_context = 9}},
                     .loads = {ExpertLoad{}, kZipf}};
  std::vector<NodeCase> grouped, sampling;
  for (const NodeCase& c : node_cases(plan)) {
    if (c.kind == "grouped_gemm") grouped.push_back(c);
    if (c.kind == "sampling") sampling.push_back(c);
  }
  REQUIRE(grouped.size() == 4);
  const auto field = [](const NodeCase& c, const std::string& name) {
    return std::find_if(c.shape.begin(), c.shape.end(), [&](const auto& f) { return f.first == name; })->second;
  };
  for (const NodeCase& c : grouped) {
    CHECK(field(c, "tokens") == 40);
    CHECK(field(c, "rows") <= 80);
    CHECK((field(c, "experts") == 8 || field(c, "experts") == 4));
    CHECK(field(c, "fullest") * field(c, "active") >= field(c, "rows"));
    const NodeTiming timing = time_node(c, {.rule = {.least_samples = 1, .least_seconds = 0, .most_seconds = 0.001}});
    CHECK(timing.is_correct);
  }
  CHECK(field(grouped[1], "fullest") > field(grouped[0], "fullest"));  // some experts are popular
  REQUIRE(sampling.size() == 4);
  CHECK(sampling[0].op == "sample");
  CHECK(sampling[1].op == kDrawnSampling);
  CHECK(sampling[0].key() != sampling[1].key());
}

// A team of one thread.
struct Lone {
  std::vector<float> bins = std::vector<float>(cuda::kBins, 0);
  std::int64_t index() const { return 0; }
  std::int64_t size() const { return 1; }
  cuda::Entry larger(cuda::Entry own) const { return own; }
  float sum(float own) const { return own; }
  void clear_bins() { bins.assign(cuda::kBins, 0); }
  void add_to_bin(int bin, float amount) { bins[static_cast<std::size_t>(bin)] += amount; }
  const float* full_bins() const { return bins.data(); }
};

std::vector<float> made_logits(std::int64_t count, std::uint64_t seed, float width) {
  std::vector<float> logits;
  for (std::int64_t i = 0; i < count; ++i) logits.push_back(width * (race_time(seed, 3, i) - 1));
  return logits;
}

TEST_CASE("the device's sampler draws the host's token") {
  Lone team;
  int drawn = 0;
  for (const std::int64_t count : {1, 2, 50, 3000}) {
    for (const SamplerSettings& settings :
         {SamplerSettings{}, SamplerSettings{.top_k = 1}, SamplerSettings{.top_k = 40}, SamplerSettings{.top_p = 0.5F},
          kMeasuredSampler, SamplerSettings{.temperature = 3, .top_k = 5000, .top_p = 0.99F}}) {
      for (std::int64_t row = 0; row < 10; ++row) {
        const auto logits = made_logits(count, static_cast<std::uint64_t>(row) + 7, 2);
        CHECK(cuda::drawn(team, logits.data(), count, settings, row) ==
              drawn_token(logits.data(), count, settings, row));
        ++drawn;
      }
    }
    const auto logits = made_logits(count, 5, 1);
    CHECK(cuda::likeliest(team, logits.data(), count).index ==
          std::max_element(logits.begin(), logits.end()) - logits.begin());
  }
  CHECK(drawn == 240);
}

TEST_CASE("no token of a race arrives at once") {
  CHECK(race_time(1, 0, 13'985'623) > 0);  // its random bits are all ones
}

TEST_CASE("thresholds keep as many as are wanted, and all that tie with the last") {
  Lone team;
  const std::vector<float> logits{0.0F, 3.0F, 1.0F, 3.0F, 2.0F, 1.0F, -1.0F};
  const cuda::RowWeights weights{logits.data(), std::ssize(logits), 3.0F, 1.0F};
  const auto kept = [&](std::uint32_t least) {
    std::vector<std::int64_t> indices;
    for (std::int64_t i = 0; i < std::ssize(logits); ++i) {
      if (cuda::bits_of(weights(i)) >= least) indices.push_back(i);
    }
    return indices;
  };
  using Indices = std::vector<std::int64_t>;
  CHECK(kept(cuda::threshold_bits(team, weights, false, 1)) == Indices{1, 3});
  CHECK(kept(cuda::threshold_bits(team, weights, false, 3)) == Indices{1, 3, 4});
  CHECK(kept(cuda::threshold_bits(team, weights, false, 4)) == Indices{1, 2, 3, 4, 5});
  CHECK(kept(cuda::threshold_bits(team, weights, false, 100)).size() == 7);
  CHECK(kept(cuda::threshold_bits(team, weights, true, 2.1F)) == Indices{1, 3, 4});
}

TEST_CASE("draws follow the softmax of the tokens that are kept") {
  const std::vector<float> logits{1.0F, 2.0F, 0.0F, -9.0F};
  constexpr std::int64_t kDraws = 20'000;
  const auto shares = [&](const SamplerSettings& settings) {
    std::vector<double> counts(4, 0);
    for (std::int64_t row = 0; row < kDraws; ++row)
      counts[static_cast<std::size_t>(drawn_token(logits.data(), 4, settings, row))] += 1.0 / kDraws;
    return counts;
  };
  const double all = std::exp(1.0) + std::exp(2.0) + 1 + std::exp(-9.0);
  const auto whole = shares({});
  CHECK(whole[0] == Approx(std::exp(1.0) / all).margin(0.015));
  CHECK(whole[1] == Approx(std::exp(2.0) / all).margin(0.015));
  const auto two = shares({.top_k = 2});
  CHECK(two[2] == 0);
  CHECK(two[1] == Approx(1 / (1 + std::exp(-1.0))).margin(0.015));
  const auto one = shares({.top_p = 0.6F});
  CHECK(one[1] == Approx(1).epsilon(1e-9));
}

}  // namespace
}  // namespace shardplan
