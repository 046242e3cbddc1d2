#include "costmodel/expert_capacity.h"

#include <rapidcheck.h>

#include <cmath>

#include "base/quantity.h"
#include "costmodel/expert_load.h"
#include "costmodel/ledger.h"
#include "costmodel/lowering/registry.h"
#include "costmodel/traffic.h"
#include "tests/catch.h"
#include "tests/costmodel/made_models.h"
#include "tests/costmodel/setup.h"

namespace shardplan {
namespace {

ExpertLoad zipf(double exponent) { return {.kind = ExpertLoad::Kind::kZipf, .exponent_ratio = exponent, .counts = {}}; }

// E[min(N, c)] by the binomial's masses, one by one.
double kept_by_hand(double p, int tokens, int capacity) {
  double kept = 0;
  for (int n = 0; n <= tokens; ++n) {
    const double log_mass = std::lgamma(tokens + 1) - std::lgamma(n + 1) - std::lgamma(tokens - n + 1) +
                            n * std::log(p) + (tokens - n) * std::log(1 - p);
    kept += std::min(n, capacity) * std::exp(log_mass);
  }
  return kept;
}

TEST_CASE("An expert keeps what finds room: two tokens that pick it with probability one half") {
  // N is 0, 1, 2 with 1/4, 1/2, 1/4; one place keeps 3/4 of the one pick that is expected.
  CHECK(expected_kept(0.5, 2, 1) == Approx(0.75));
  CHECK(expected_kept(0.5, 2, 2) == Approx(1));
  CHECK(expected_kept(1, 10, 4) == Approx(4));
  CHECK(expected_kept(0, 10, 4) == 0);
}

TEST_CASE("Kept tokens are the binomial's, exactly below a mean of 64 and within a thousandth above") {
  for (const auto& [p, tokens, capacity] :
       {std::tuple{0.03125, 1024, 40}, {0.1, 500, 45}, {0.9, 70, 60}, {1e-3, 5000, 6}}) {
    CHECK(expected_kept(p, tokens, capacity) == Approx(kept_by_hand(p, tokens, capacity)).epsilon(1e-9));
  }
  for (const auto& [p, tokens, capacity] :
       {std::tuple{0.1, 1000, 100}, {0.1, 1000, 80}, {0.05, 2000, 125}, {0.5, 200, 100}}) {
    CHECK(expected_kept(p, tokens, capacity) == Approx(kept_by_hand(p, tokens, capacity)).epsilon(1e-3));
  }
}

TEST_CASE("1,024 tokens of 64 experts, two each: a factor of 1.25 keeps 40 a piece and drops 0.7 % of an even load") {
  const ExpertLoadModel load({}, 64, 2, 8, 0, 1.25);
  const ExpertDrops drops = *load.drops(1024);
  CHECK(drops.capacity == 40);
  CHECK(drops.hottest_tokens == Approx(32));
  CHECK(drops.dropped_ratio == Approx(1 - kept_by_hand(1.0 / 32, 1024, 40) / 32));
  CHECK(drops.dropped_ratio == Approx(0.0068).epsilon(0.01));
  // All ranks are as busy: each keeps what is left of 256 rows.
  CHECK(load.busiest_rows(1024) == Approx(256 * (1 - drops.dropped_ratio)));
  CHECK(load.mean_rows(1024) == Approx(load.busiest_rows(1024)));
}

TEST_CASE("A factor that has room for every token changes nothing") {
  for (const ExpertLoad& law : {ExpertLoad{}, zipf(0.8)}) {
    const ExpertLoadModel all(law, 64, 4, 8, 8);
    const ExpertLoadModel roomy(law, 64, 4, 8, 8, 16);  // E/k
    for (const double tokens : {1.0, 7.0, 64.0, 1000.0, 30000.0}) {
      CHECK(roomy.dropped_ratio(tokens) == 0);
      CHECK(roomy.busiest_rows(tokens) == Approx(all.busiest_rows(tokens)));
      CHECK(roomy.busiest_tiles(tokens, 64) == Approx(all.busiest_tiles(tokens, 64)));
      CHECK(roomy.busiest_visits_left_ratio(tokens) == Approx(1));
      CHECK(roomy.mean_visits_left_ratio(tokens) == Approx(1));
    }
    CHECK(roomy.least_kept_ratio() == Approx(1));
  }
}

TEST_CASE(
    "More room drops less, more tokens are never fewer rows, and the busiest rank never keeps more than its experts "
    "take") {
  CHECK(rc::check([] {
    const auto experts = *rc::gen::element<std::int64_t>(8, 16, 60, 64, 256);
    const auto per_token = *rc::gen::inRange<std::int64_t>(1, std::min<std::int64_t>(8, experts / 2));
    const auto ep = *rc::gen::element<std::int64_t>(1, 2, 4, 8);
    const auto redundant = ep > 1 ? *rc::gen::element<std::int64_t>(0, 8) : 0;
    const double factor = *rc::gen::element(0.3, 0.8, 1.0, 1.25, 2.0);
    const ExpertLoad law = *rc::gen::arbitrary<bool>() ? ExpertLoad{} : zipf(0.8);
    const ExpertLoadModel tight(law, experts, per_token, ep, redundant, factor);
    const ExpertLoadModel wide(law, experts, per_token, ep, redundant, 1.5 * factor);
    const ExpertLoadModel all(law, experts, per_token, ep, redundant);
    double last = 0;
    for (const std::int64_t tokens : {1, 2, 5, 16, 40, 128, 1000, 9000}) {
      const auto t = static_cast<double>(tokens);
      const double dropped = tight.dropped_ratio(t);
      RC_ASSERT(dropped >= 0 && dropped < 1);
      RC_ASSERT(wide.dropped_ratio(t) <= dropped + 1e-12);
      RC_ASSERT(tight.busiest_rows(t) >= last - 1e-9);
      last = tight.busiest_rows(t);
      RC_ASSERT(last <= all.busiest_rows(t) * (1 + 1e-9));
      // At 5, 40, 1000 and 9000 the tables are interpolated: between two numbers of tokens capacity goes in whole
      // steps.
      RC_ASSERT(tight.mean_rows(t) <= last + 1e-9);
      RC_ASSERT(tight.busiest_visits_left_ratio(t) <= 1 + 1e-9 && tight.busiest_visits_left_ratio(t) > 0);
      const auto tiles = static_cast<double>(ceil_div(expert_capacity(tokens, per_token, experts, factor), 16) *
                                             tight.slots_per_rank());
      RC_ASSERT(tight.busiest_tiles(t, 16) <= tiles * (1 + 1e-9));
    }
    const auto capacity = static_cast<double>(expert_capacity(128, per_token, experts, factor));
    RC_ASSERT(tight.busiest_rows(128) <= capacity * static_cast<double>(tight.slots_per_rank()) + 1e-9);
  }));
}

TEST_CASE(
    "Routing is gathered over the ranks that share experts, and nowhere else does a capacity factor send anything") {
  const ModelSpec model =
      made_model({.hidden = 64, .attention = grouped_attention(8, 8, 16), .ffn = moe_ffn(16, 2, 64)});
  const BatchShape decode{.decode_sequences = 64, .decode_context = 128};
  const auto gathers = [&](ParallelConfig config) {
    config.variant.capacity_factor_ratio = 1.25;
    const LoweredModel lowered = lower_model(model, config, default_formats(model));
    std::vector<double> sent;
    for (const Node& node : lowered.forms.front().layers.front().nodes) {
      const StepGraph& layer = lowered.forms.front().layers.front();
      if (node.kind != NodeKind::kAllGather || layer.tensor_of(node.inputs[0]).name != std::string("routing")) continue;
      const TrafficForm form = traffic_form(layer, node, nullptr);
      sent.push_back(form.sent_ratio * evaluate(form.symbol, decode));
    }
    return sent;
  };
  // 8 tokens of a rank, two picks of 8 bytes, to 7 others.
  CHECK(gathers({.dpa = 8, .ep = 8, .variant = {.moe_comm = MoeComm::kAllToAll}}) ==
        std::vector<double>{8 * 2 * 8 * 7});
  // Two copies of the experts: the picks of one copy's tokens alone.
  CHECK(gathers({.dpa = 8, .ep = 4, .moe_dp = 2, .variant = {.moe_comm = MoeComm::kAllToAll}}) ==
        std::vector<double>{8 * 2 * 8 * 3});
  CHECK(gathers({.tp = 8, .ep = 8}).empty());  // replicated tokens
}

TEST_CASE("What a rank holds of dispatched tokens is the room of its experts") {
  const ModelSpec model =
      made_model({.hidden = 64, .attention = grouped_attention(8, 8, 16), .ffn = moe_ffn(16, 2, 64)});
  const BatchShape decode{.decode_sequences = 1024, .decode_context = 128};
  const auto peak = [&](double factor) {
    ParallelConfig config{
        .dpa = 8, .ep = 8, .variant = {.moe_comm = MoeComm::kAllToAll, .capacity_factor_ratio = factor}};
    const LoweredModel lowered = lower_model(model, config, default_formats(model));
    return activation_peak(lowered.forms.front().layers.front(), decode).value();
  };
  // C = 256 and 192 tokens of 1,024: two experts of a rank have 128 more rows of x, of two picks and of partial sums,
  // and of the activations behind gate and up and before the way back.
  const std::int64_t rows = 2 * (256 - 192);
  CHECK(peak(2) - peak(1.5) == rows * (2 * 64 + 2 * 8 + 2 * 64 + 2 * (128 + 64)));
}

TEST_CASE("A capacity factor is for routed experts, and positive") {
  const ModelSpec dense = made_model({.hidden = 64, .attention = grouped_attention(8, 8, 16)});
  const ModelSpec moe = made_model({.hidden = 64, .attention = grouped_attention(8, 8, 16), .ffn = moe_ffn(16, 2, 64)});
  CHECK(check_config(dense, {.variant = {.capacity_factor_ratio = 1}}).front().rule == "capacity_factor");
  CHECK(check_config(moe, {.variant = {.capacity_factor_ratio = -1}}).front().rule == "capacity_factor");
  CHECK(check_config(moe, {.variant = {.capacity_factor_ratio = 1}}).empty());
}

}  // namespace
}  // namespace shardplan
