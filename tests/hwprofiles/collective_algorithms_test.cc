// Each formula by hand on a made-up row: base 10 us, 1 us a rank, 50 % of 100 GB/s, no ramp (half 0).
// With ramp 0 and half 0 the volume term is F / 50 GB/s: 50,000 B take 1 us.
#include "collective_groups.h"
#include "costmodel/collectives/collective.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

const CollectiveCoefficients kRow{
    .base = Seconds(10e-6), .per_rank = Seconds(1e-6), .efficiency = 0.5, .half = Bytes(0), .ramp = 0};
const CollectiveCoefficients kRemoteRow{
    .base = Seconds(5e-6), .per_rank = Seconds(2e-6), .efficiency = 0.5, .half = Bytes(0), .ramp = 0};

HardwareProfile plain_profile() {
  HardwareProfile profile;
  profile.collectives["all_reduce"] = kRow;
  profile.collectives["inter.all_reduce"] = kRemoteRow;
  return profile;
}

GroupLinks one_domain(int ranks) {
  const BytesPerSecond rate(100e9);
  return {.ranks = ranks,
          .nodes = 1,
          .ranks_per_node = ranks,
          .intra_bandwidth = rate,
          .ring_bandwidth = rate,
          .all_to_all_bandwidth = rate,
          .inter_bandwidth = rate,
          .in_switch_reduction = true};
}

// 2 domains of 4: NICs of 25 GB/s, 3 us from end to end.
GroupLinks two_domains() {
  return {.ranks = 8,
          .nodes = 2,
          .ranks_per_node = 4,
          .intra_bandwidth = BytesPerSecond(100e9),
          .ring_bandwidth = BytesPerSecond(100e9),
          .all_to_all_bandwidth = BytesPerSecond(50e9),
          .inter_bandwidth = BytesPerSecond(25e9),
          .latency = Seconds(3e-6)};
}

double microseconds(std::string_view name, const CollectiveRequest& request, const GroupLinks& links) {
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    if (algorithm.name != name) continue;
    REQUIRE(algorithm.applies(request, links));
    return algorithm.time(request, links, plain_profile()).value() * 1e6;
  }
  FAIL("no algorithm " << name);
  return 0;
}

TEST_CASE("ring: 10 + 3*1 us, and 2*3/4 of 400,000 B at 50 GB/s") {
  const CollectiveRequest request{.kind = CollectiveKind::kAllReduce, .message_bytes = 400'000};
  CHECK(microseconds("ring", request, one_domain(4)) == Approx(13 + 12));
}

TEST_CASE("ring over two domains: 6 near steps, one exchange both ways, and the volume at the remote efficiency") {
  // 10 + 6*1 + 5 + (2 + 2*3) + 2*7/8*400,000/50,000
  const CollectiveRequest request{.kind = CollectiveKind::kAllReduce, .message_bytes = 400'000};
  CHECK(microseconds("ring", request, two_domains()) == Approx(10 + 6 + 5 + 8 + 14));
}

TEST_CASE("tree over two domains: a chain of 4, one exchange, twice the message") {
  const CollectiveRequest request{.kind = CollectiveKind::kAllReduce, .message_bytes = 400'000};
  CHECK(microseconds("tree", request, two_domains()) == Approx(10 + 3 + 5 + 8 + 16));
}

TEST_CASE("nvls: the message and a quarter over four ranks") {
  const CollectiveRequest request{.kind = CollectiveKind::kAllReduce, .message_bytes = 400'000};
  CHECK(microseconds("nvls", request, one_domain(4)) == Approx(13 + 10));
}

TEST_CASE("one-shot reads three buffers, two-shot the ring's volume") {
  const CollectiveRequest request{.kind = CollectiveKind::kAllReduce, .message_bytes = 400'000};
  CHECK(microseconds("one_shot", request, one_domain(4)) == Approx(13 + 24));
  CHECK(microseconds("two_shot", request, one_domain(4)) == Approx(13 + 12));
}

TEST_CASE("hierarchical: inside, across with a quarter of the message, inside") {
  // inside twice: 13 + 3/4*400,000/50,000 = 19 each; across: 5 + 8 + (2*1/2 * 100,000 B at 12.5 GB/s = 8)
  const CollectiveRequest request{.kind = CollectiveKind::kAllReduce, .message_bytes = 400'000};
  CHECK(microseconds("hierarchical", request, two_domains()) == Approx(19 + 5 + 8 + 8 + 19));
  // One way for an all-gather: 19; across 5 + (2 + 3) + (1/2 * 100,000 B = 4)
  const CollectiveRequest gather{.kind = CollectiveKind::kAllGather, .message_bytes = 400'000};
  CHECK(microseconds("hierarchical", gather, two_domains()) == Approx(19 + 5 + 5 + 4));
}

TEST_CASE("pairwise: seven eighths of the message, and a message for each of four remote peers") {
  // near 10 + 3; path 3; 5 + 4*2; 350,000 B at 25 GB/s = 14
  const CollectiveRequest request{.kind = CollectiveKind::kAllToAll, .message_bytes = 400'000};
  CHECK(microseconds("pairwise", request, two_domains()) == Approx(13 + 3 + 13 + 14));
}

TEST_CASE("two-stage all-to-all: one message per remote domain, and one more crossing inside") {
  // near 13; path 3; 5 + 1*2; 4/7 of 350,000 B at 12.5 GB/s = 16; 350,000 B at 50 GB/s = 7
  const CollectiveRequest request{.kind = CollectiveKind::kAllToAll, .message_bytes = 400'000};
  CHECK(microseconds("hierarchical_all_to_all", request, two_domains()) == Approx(13 + 3 + 7 + 16 + 7));
}

TEST_CASE("point to point: base, path and volume") {
  const CollectiveRequest request{.kind = CollectiveKind::kSendReceive, .message_bytes = 400'000};
  CHECK(microseconds("p2p", request, two_domains()) == Approx(5 + 3 + 8));
}

TEST_CASE("a ramp doubles the volume term at half") {
  HardwareProfile profile = plain_profile();
  CollectiveCoefficients& row = profile.collectives["all_reduce"];
  row.half = Bytes(600'000);
  row.ramp = 0.3;
  const CollectiveRequest request{.kind = CollectiveKind::kAllReduce, .message_bytes = 400'000};  // F = 600,000
  CHECK(collective_algorithms().front().time(request, one_domain(4), profile).value() == Approx((13 + 2 * 12) * 1e-6));
}

TEST_CASE("the engines' kernels stop at their limits") {
  const auto applies = [](std::string_view name, const CollectiveRequest& request, const GroupLinks& links) {
    for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
      if (algorithm.name == name) return algorithm.applies(request, links);
    }
    return false;
  };
  CollectiveRequest request{.kind = CollectiveKind::kAllReduce, .message_bytes = 8.0 * kMiB};
  CHECK(applies("one_shot", request, one_domain(8)));
  CHECK_FALSE(applies("one_shot", request, one_domain(9)));
  CHECK_FALSE(applies("two_shot", request, two_domains()));
  request.message_bytes += 1;
  CHECK_FALSE(applies("one_shot", request, one_domain(8)));
  GroupLinks through_host = one_domain(8);
  through_host.peer_access = false;
  CHECK_FALSE(applies("two_shot", request, through_host));
  CHECK_FALSE(applies("nvls", request, two_domains()));
}

}  // namespace
}  // namespace shardplan
