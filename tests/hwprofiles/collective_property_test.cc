#include <rapidcheck.h>

#include "collective_groups.h"
#include "costmodel/collectives/collective.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

struct Case {
  HardwareProfile profile;
  CollectiveRequest request;
  GroupLinks links;
};

Case any_case() {
  Case drawn{load_hardware(*rc::gen::element<std::string>("a100", "h100", "h200", "b200", "gb200", "l40s")), {}, {}};
  drawn.request.kind =
      *rc::gen::element(CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                        CollectiveKind::kAllToAll, CollectiveKind::kSendReceive);
  drawn.request.message_bytes = *rc::gen::inRange(1, 1 << 30);
  drawn.request.graph_captured = *rc::gen::arbitrary<bool>();
  drawn.links = first_ranks(drawn.profile, *rc::gen::inRange(2, 33));
  return drawn;
}

Seconds calibrated(const Case& c) {
  return price_collective(c.request, c.links, c.profile, PriceMode::kCalibrated).time;
}

TEST_CASE("no price is below the lower bound") {
  CHECK(rc::check("bound", [] {
    const Case c = any_case();
    RC_ASSERT(calibrated(c) >= collective_lower_bound(c.request, c.links));
    RC_ASSERT(collective_lower_bound(c.request, c.links) <=
              price_collective(c.request, c.links, c.profile, PriceMode::kSpeedOfLight).time);
  }));
}

TEST_CASE("more bytes are never faster, algorithm by algorithm and at the least of them") {
  CHECK(rc::check("bytes", [] {
    Case c = any_case();
    Case more = c;
    more.request.message_bytes += *rc::gen::inRange(1, 1 << 28);
    RC_ASSERT(calibrated(more) >= calibrated(c));
    for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
      if (!algorithm.applies(c.request, c.links) || !algorithm.applies(more.request, c.links)) continue;
      RC_ASSERT(algorithm.time(more.request, c.links, c.profile) >= algorithm.time(c.request, c.links, c.profile));
    }
  }));
}

TEST_CASE("more bandwidth is never slower") {
  CHECK(rc::check("bandwidth", [] {
    const Case c = any_case();
    Case faster = c;
    const double factor = 1 + *rc::gen::inRange(1, 100) / 50.0;
    for (BytesPerSecond* rate : {&faster.links.intra_bandwidth, &faster.links.ring_bandwidth,
                                 &faster.links.all_to_all_bandwidth, &faster.links.inter_bandwidth}) {
      *rate = *rate * factor;
    }
    RC_ASSERT(calibrated(faster) <= calibrated(c));
  }));
}

TEST_CASE("faster NICs never make a group slower") {
  CHECK(rc::check("nics", [] {
    Case c = any_case();
    HardwareProfile faster = c.profile;
    faster.node.nic.bandwidth = faster.node.nic.bandwidth * (1 + *rc::gen::inRange(1, 100) / 50.0);
    const Case upgraded{faster, c.request, first_ranks(faster, c.links.ranks)};
    RC_ASSERT(calibrated(upgraded).value() <= calibrated(c).value() * (1 + 1e-12));
  }));
}

TEST_CASE("latency grows with ranks inside a node and with nodes") {
  const HardwareProfile h200 = load_hardware("h200");
  for (const auto kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                          CollectiveKind::kAllToAll}) {
    const CollectiveRequest small{.kind = kind, .message_bytes = 64};
    Seconds last;
    for (const int ranks : {2, 4, 8, 16, 32, 64, 128}) {
      const Seconds time = price_collective(small, first_ranks(h200, ranks), h200, PriceMode::kCalibrated).time;
      INFO(collective_name(kind) << " over " << ranks << " ranks");
      CHECK(time > last);
      last = time;
    }
  }
}

}  // namespace
}  // namespace shardplan
