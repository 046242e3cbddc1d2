// Properties of every machine of the catalog: its fabric builds, its prices are positive and grow with the bytes.
#include <string>
#include <vector>

#include "collective_groups.h"
#include "costmodel/collectives/collective.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                     CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll,
                                     CollectiveKind::kSendReceive};

std::string machine_name() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const HardwareEntry& entry : hardware_catalog()) result.push_back(entry.name);
    return result;
  }();
  return GENERATE(from_range(names));
}

TEST_CASE("a fabric of 1 to 64 devices builds from every machine, and every group sees bandwidth") {
  const std::string name = machine_name();
  INFO(name);
  const HardwareProfile profile = load_hardware(name);
  for (int ranks = 1; ranks <= 64; ++ranks) {
    const GroupLinks links = first_ranks(profile, ranks);
    const bool sound = links.ranks == ranks && links.ring_bandwidth.value() > 0 && links.inter_bandwidth.value() > 0 &&
                       links.all_to_all_bandwidth.value() > 0 && links.intra_bandwidth.value() > 0 &&
                       (ranks == 1 || links.latency.value() > 0);
    if (!sound) FAIL("over " << ranks << " devices");
  }
}

// Price over `links` from a byte to a gibibyte: positive, never less for more.
void check_prices(const HardwareProfile& profile, const GroupLinks& links, CollectiveKind kind, PriceMode mode) {
  Seconds last;
  for (double bytes = 1; bytes <= 1 << 30; bytes *= 4) {
    const CollectiveRequest request{.kind = kind, .message_bytes = bytes};
    const Seconds time = price_collective(request, links, profile, mode).time;
    if (time.value() <= 0 || time < last)
      FAIL(collective_name(kind) << " of " << bytes << " B over " << links.ranks << " ranks");
    last = time;
  }
}

TEST_CASE("on every machine prices are positive, and more bytes are never faster") {
  const std::string name = machine_name();
  INFO(name);
  const HardwareProfile profile = load_hardware(name);
  for (const int ranks : {2, 3, 4, 6, 8, 16, 24, 64}) {
    const GroupLinks links = first_ranks(profile, ranks);
    for (const CollectiveKind kind : kKinds) {
      check_prices(profile, links, kind, PriceMode::kSpeedOfLight);
      if (profile.calibrated) check_prices(profile, links, kind, PriceMode::kCalibrated);
    }
  }
}

// Bus bandwidth of an all-reduce as NCCL reports it: 2(N-1)/N * message / time.
double bus_bandwidth(const std::string& name, double bytes) {
  const HardwareProfile profile = load_hardware(name);
  const CollectiveRequest request{.kind = CollectiveKind::kAllReduce, .message_bytes = bytes, .graph_captured = false};
  return 1.75 * bytes /
         price_collective(request, first_ranks(profile, 8), profile, PriceMode::kCalibrated).time.value();
}

TEST_CASE("the bus bandwidth of a reduction in the switch may exceed the line rate, and is not clamped") {
  constexpr double kLarge = 16.0 * (1LL << 30);
  CHECK(bus_bandwidth("h100", kLarge) > 450e9);
  CHECK(bus_bandwidth("h100", kLarge) == Approx(480e9).epsilon(0.15));
  CHECK(bus_bandwidth("h800", kLarge) == Approx(215e9).epsilon(0.15));  // on a 200 GB/s link
}

TEST_CASE("two devices of a full mesh take seven times as long for what each sends as eight do") {
  const HardwareProfile mi300x = load_hardware("mi300x");
  const auto time = [&](int ranks) {
    const CollectiveRequest request{.kind = CollectiveKind::kAllGather, .message_bytes = 1e9, .sent_bytes = 1e9};
    return price_collective(request, first_ranks(mi300x, ranks), mi300x, PriceMode::kSpeedOfLight).time;
  };
  CHECK(time(2) / time(8) == Approx(7));
}

TEST_CASE("an all-reduce over EFA is near what two hosts of AWS were measured at, and slower than InfiniBand's") {
  const HardwareProfile efa = load_hardware("p5");
  const HardwareProfile infiniband = load_hardware("h100");
  struct Measured {
    double mebibytes, microseconds;
  };
  for (const Measured& row : {Measured{64, 996}, Measured{512, 3608}, Measured{2048, 9198}}) {
    const CollectiveRequest request{.kind = CollectiveKind::kAllReduce, .message_bytes = row.mebibytes * (1 << 20)};
    const Seconds time = price_collective(request, first_ranks(efa, 16), efa, PriceMode::kCalibrated).time;
    INFO(row.mebibytes << " MiB");
    CHECK(time.value() * 1e6 == Approx(row.microseconds).epsilon(0.3));
    CHECK(time > price_collective(request, first_ranks(infiniband, 16), infiniband, PriceMode::kCalibrated).time);
  }
}

}  // namespace
}  // namespace shardplan
