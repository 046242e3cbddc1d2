#include <algorithm>
#include <vector>

#include "collective_groups.h"
#include "costmodel/collectives/collective.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

constexpr CollectiveRequest kDecodeAllReduce{
    .kind = CollectiveKind::kAllReduce, .message_bytes = 524'288, .sent_bytes = 917'504};

TEST_CASE("the speed of light of a decode all-reduce over eight H200 is 2.0389 us") {
  // 64 tokens * 4096 * 2 B = 524,288 B; a ring sends 2*7/8 of it = 917,504 B; / 450 GB/s = 2.0389 us.
  const HardwareProfile h200 = load_hardware("h200");
  const auto price = price_collective(kDecodeAllReduce, first_ranks(h200, 8), h200, PriceMode::kSpeedOfLight);
  CHECK(price.time.value() == Approx(2.0389e-6).epsilon(1e-3));
  CHECK(price.algorithm == "ring");
}

TEST_CASE("a ring hop of 8 MiB over NVLink takes 18.64 us at the speed of light") {
  const HardwareProfile h200 = load_hardware("h200");
  const CollectiveRequest hop{
      .kind = CollectiveKind::kSendReceive, .message_bytes = 8'388'608, .sent_bytes = 8'388'608};
  const auto price = price_collective(hop, Fabric(h200, 8).path(0, 1), h200, PriceMode::kSpeedOfLight);
  CHECK(price.time.value() == Approx(1.864e-5).epsilon(1e-3));
  CHECK(price.algorithm == "p2p");
}

TEST_CASE("what is sent is derived from the message when it is not given") {
  const HardwareProfile h200 = load_hardware("h200");
  CollectiveRequest request = kDecodeAllReduce;
  request.sent_bytes = 0;
  const auto price = price_collective(request, first_ranks(h200, 8), h200, PriceMode::kSpeedOfLight);
  CHECK(price.time.value() == Approx(917'504 / 450e9));
}

TEST_CASE("the message is derived from what is sent when it is not given") {
  const HardwareProfile h200 = load_hardware("h200");
  CollectiveRequest request = kDecodeAllReduce;
  const auto whole = price_collective(request, first_ranks(h200, 8), h200, PriceMode::kCalibrated);
  request.message_bytes = 0;
  CHECK(price_collective(request, first_ranks(h200, 8), h200, PriceMode::kCalibrated).time.value() ==
        Approx(whole.time.value()));
}

TEST_CASE("one rank, or no bytes, costs nothing") {
  const HardwareProfile h200 = load_hardware("h200");
  CHECK(price_collective(kDecodeAllReduce, first_ranks(h200, 1), h200, PriceMode::kCalibrated).time.value() == 0);
  CHECK(price_collective({}, first_ranks(h200, 8), h200, PriceMode::kCalibrated).time.value() == 0);
}

TEST_CASE("the lower bound inside a reducing domain is message*(1+1/N)/bandwidth, below the ring's") {
  const HardwareProfile h200 = load_hardware("h200");
  const Seconds bound = collective_lower_bound(kDecodeAllReduce, first_ranks(h200, 8));
  CHECK(bound.value() == Approx(524'288 * 1.125 / 450e9));
  const HardwareProfile a100 = load_hardware("a100");
  CHECK(collective_lower_bound(kDecodeAllReduce, first_ranks(a100, 8)).value() == Approx(917'504 / 300e9));
}

TEST_CASE("launched eagerly, the engines' own kernels do not apply and the floor is NCCL's") {
  const HardwareProfile h200 = load_hardware("h200");
  CollectiveRequest request = kDecodeAllReduce;
  const auto captured = price_collective(request, first_ranks(h200, 8), h200, PriceMode::kCalibrated);
  request.graph_captured = false;
  const auto eager = price_collective(request, first_ranks(h200, 8), h200, PriceMode::kCalibrated);
  CHECK(captured.time < eager.time);
  CHECK(eager.algorithm == "ring");
}

TEST_CASE("two nodes cannot reduce in the switch, and the tree wins small messages over many nodes") {
  const HardwareProfile h200 = load_hardware("h200");
  const CollectiveRequest small{.kind = CollectiveKind::kAllReduce, .message_bytes = 1024};
  for (const int nodes : {2, 4, 8, 16}) {
    CHECK(price_collective(small, first_ranks(h200, 8 * nodes), h200, PriceMode::kCalibrated).algorithm == "tree");
  }
}

TEST_CASE("an all-to-all of small messages over many nodes goes by rails") {
  const HardwareProfile h200 = load_hardware("h200");
  const CollectiveRequest small{.kind = CollectiveKind::kAllToAll, .message_bytes = 64 * 1024};
  CHECK(price_collective(small, first_ranks(h200, 64), h200, PriceMode::kCalibrated).algorithm ==
        "hierarchical_all_to_all");
  CHECK(price_collective(small, first_ranks(h200, 8), h200, PriceMode::kCalibrated).algorithm == "pairwise");
}

TEST_CASE("every registered algorithm has a name of its own and a line of help") {
  std::vector<std::string_view> names;
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    CHECK_FALSE(algorithm.help.empty());
    CHECK(std::find(names.begin(), names.end(), algorithm.name) == names.end());
    names.push_back(algorithm.name);
  }
  CHECK(names.size() == 12);
}

}  // namespace
}  // namespace shardplan
