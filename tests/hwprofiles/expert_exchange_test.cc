// Dispatch and combine against what DeepEP's benchmarks print: tokens of 7168 to 8 of 256 experts, fp8 there and bf16 back.
#include <rapidcheck.h>

#include <vector>

#include "collective_groups.h"
#include "costmodel/collectives/collective.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

constexpr double kHidden = 7168;

CollectiveRequest exchange(CollectiveKind kind, double tokens, int ranks, bool captured = false) {
  const double row = kind == CollectiveKind::kDispatch ? kHidden * (1 + 4.0 / 128) : 2 * kHidden;
  const double visits = distinct_groups(ranks, 8);
  return {.kind = kind, .message_bytes = tokens * visits * row, .sent_bytes = 0, .graph_captured = captured, .source = {}, .token_bytes = tokens * row, .experts_per_token = 8};
}

double microseconds(const HardwareProfile& hardware, CollectiveKind kind, double tokens, int ranks, bool captured) {
  return price_collective(exchange(kind, tokens, ranks, captured), first_ranks(hardware, ranks), hardware, PriceMode::kCalibrated).time.value() * 1e6;
}

TEST_CASE("eight picks among eight ranks fall on 5.25 of them") {
  CHECK(distinct_groups(8, 8) == Approx(5.2511));   // 8 * (1 - (7/8)^8)
  CHECK(distinct_groups(1, 8) == Approx(1));
  CHECK(distinct_groups(4, 1) == Approx(1));
}

struct Measured {
  double tokens;
  int ranks;
  double dispatch, combine;
};

void check_within(const char* machine, bool captured, const std::vector<Measured>& table, double off) {
  const HardwareProfile hardware = load_hardware(machine);
  for (const Measured& row : table) {
    INFO(machine << ", " << row.tokens << " tokens on each of " << row.ranks);
    CHECK(microseconds(hardware, CollectiveKind::kDispatch, row.tokens, row.ranks, captured) == Approx(row.dispatch).epsilon(off));
    CHECK(microseconds(hardware, CollectiveKind::kCombine, row.tokens, row.ranks, captured) == Approx(row.combine).epsilon(off));
  }
}

TEST_CASE("low-latency kernels on one to eight nodes of H200 take what was measured") {
  check_within("h200", true, {{128, 8, 35, 68}, {128, 16, 102, 186}, {128, 32, 143, 263}, {128, 64, 167, 305}}, 0.15);
}

TEST_CASE("normal kernels of 4096 tokens take what was measured, with the notice ahead of them") {
  check_within("h200", false, {{4096, 8, 502, 979}, {4096, 16, 749 + 56, 1777 + 50}, {4096, 32, 1791 + 62, 3522 + 119}}, 0.25);
  check_within("b200", false, {{4096, 8, 440, 756}}, 0.15);
}

TEST_CASE("an H800, whose links were halved and which no row was fitted on, is within 30 % of its makers' figures") {
  check_within("h800", true, {{128, 8, 77, 114}, {128, 16, 118, 195}, {128, 32, 155, 273}, {128, 64, 173, 314}}, 0.3);
}

TEST_CASE("few tokens go by the low-latency kernels, many by the normal ones, but in a captured graph") {
  const HardwareProfile h200 = load_hardware("h200");
  const auto algorithm = [&](double tokens, int ranks, bool captured) {
    return price_collective(exchange(CollectiveKind::kDispatch, tokens, ranks, captured), first_ranks(h200, ranks), h200, PriceMode::kCalibrated).algorithm;
  };
  for (const int ranks : {8, 32}) {
    CHECK(algorithm(16, ranks, false) == "ep_low_latency");
    CHECK(algorithm(4096, ranks, false) == "ep_normal");
    CHECK(algorithm(4096, ranks, true) == "ep_low_latency");
  }
}

TEST_CASE("machines without such kernels, and exchanges that do not tell their tokens, are all-to-alls") {
  const auto price = [](const char* machine, bool tells) {
    const HardwareProfile hardware = load_hardware(machine);
    CollectiveRequest request = exchange(CollectiveKind::kCombine, 64, 8);
    if (!tells) request.token_bytes = 0;
    return price_collective(request, first_ranks(hardware, 8), hardware, PriceMode::kCalibrated).algorithm;
  };
  CHECK(price("a100", true) == "pairwise");
  CHECK(price("h200", false) == "pairwise");
  CHECK(price("l40s", true) == "pairwise");
}

TEST_CASE("dispatch and combine grow with tokens and never beat the speed of light") {
  const HardwareProfile h200 = load_hardware("h200");
  CHECK(rc::check("exchange", [&] {
    const int ranks = *rc::gen::element(8, 16, 32, 64);
    const auto kind = *rc::gen::element(CollectiveKind::kDispatch, CollectiveKind::kCombine);
    const double tokens = *rc::gen::inRange(1, 8192);
    const bool captured = *rc::gen::arbitrary<bool>();
    const double time = microseconds(h200, kind, tokens, ranks, captured);
    RC_ASSERT(microseconds(h200, kind, tokens + 64, ranks, captured) >= time);
    RC_ASSERT(collective_lower_bound(exchange(kind, tokens, ranks), first_ranks(h200, ranks)).value() * 1e6 <= time);
  }));
}

}  // namespace
}  // namespace shardplan
