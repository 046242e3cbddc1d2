// The grid of collective prices against direct ones, and how groups are named by strides.
#include <rapidcheck.h>

#include <array>
#include <cmath>

#include "costmodel/collective_pricer.h"
#include "costmodel/collectives/curve.h"
#include "tests/catch.h"
#include "tests/costmodel/any_config.h"

namespace shardplan {
namespace {

// Nearest grid sizes around a message: powers of two and one and a half times them.
std::array<double, 2> neighbours(double bytes) {
  const double octave = std::exp2(std::floor(std::log2(bytes)));
  return bytes < 1.5 * octave ? std::array{octave, 1.5 * octave} : std::array{1.5 * octave, 2 * octave};
}

// Whether the library's low-latency way answers: where it gives way to the bulk one is a switch too.
bool is_quick(CollectiveKind kind, double sent, std::int64_t ranks, const HardwareProfile& hardware) {
  HardwareProfile bulk = hardware;
  bulk.collectives.erase("ll_" + std::string(collective_name(kind)));
  const auto time = [&](const HardwareProfile& profile) {
    return inside_time(kind, {sent}, static_cast<int>(ranks), hardware.node.scale_up.bandwidth, profile).value();
  };
  return time(hardware) < time(bulk);
}

TEST_CASE("Off an algorithm's switch, interpolated prices are within one percent of direct ones") {
  // NVLS has a switch of its own above 64 MiB, from the engines' kernel to the library's.
  CHECK(rc::check([] {
    const HardwareProfile hardware = load_hardware(
        *rc::gen::element<std::string>("h100-sxm", "h200-sxm", "a100-sxm-80gb", "b200-sxm", "gb200-nvl72", "l40s"));
    const std::int64_t ranks = 2LL << any_of(0, 5);
    const Fabric fabric(hardware, ranks);
    const CollectivePricer pricer(hardware, fabric, PriceMode::kCalibrated, any_of(0, 1) == 1);
    const auto kind = *rc::gen::element(CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                        CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll);
    const double n = static_cast<double>(ranks);
    const double ratio = (kind == CollectiveKind::kAllReduce ? 2 : 1) * (n - 1) / n;
    const CollectiveCurve& curve = pricer.curve(kind, {{{ranks, 1}}, {}}, ratio);
    const double bytes = std::exp2(static_cast<double>(any_of(400, 3300)) / 100);
    const auto [low, high] = neighbours(bytes);
    const auto algorithm = curve.direct(bytes).algorithm;
    RC_PRE(curve.direct(low).algorithm == algorithm && curve.direct(high).algorithm == algorithm);
    RC_PRE(!(algorithm == "nvls" && low <= 64.0 * kMiB && high > 64.0 * kMiB));
    RC_PRE(is_quick(kind, low * ratio, ranks, hardware) == is_quick(kind, high * ratio, ranks, hardware));
    RC_ASSERT(curve.time(bytes).value() == Approx(curve.direct(bytes).time.value()).epsilon(0.01));
  }));
}

TEST_CASE("Nothing to send takes no time, and the smallest messages are priced directly") {
  const HardwareProfile h200 = load_hardware("h200-sxm");
  const Fabric fabric(h200, 8);
  const CollectivePricer pricer(h200, fabric, PriceMode::kCalibrated);
  const CollectiveCurve& curve = pricer.curve(CollectiveKind::kAllReduce, {{{8, 1}}, {}}, 1.75);
  CHECK(curve.time(0) == Seconds(0));
  CHECK(curve.time(8) == curve.direct(8).time);
}

TEST_CASE("A group over two nodes crosses their adapters, one inside a node does not") {
  const HardwareProfile h200 = load_hardware("h200-sxm");
  const Fabric fabric(h200, 16);
  const CollectivePricer pricer(h200, fabric, PriceMode::kSpeedOfLight);
  // Ranks 0..7, and ranks 0 and 8 with their seven sisters at work at the same time.
  const CollectiveCurve& inside = pricer.curve(CollectiveKind::kAllReduce, {{{8, 1}}, {{2, 8}}}, 1.75);
  const CollectiveCurve& across = pricer.curve(CollectiveKind::kAllReduce, {{{2, 8}}, {{8, 1}}}, 1);
  CHECK(inside.links().nodes == 1);
  CHECK(across.links().nodes == 2);
  CHECK(inside.time(450e9 / 1.75).value() == Approx(1));
  CHECK(across.time(50e9).value() == Approx(1));
}

TEST_CASE("The same group is the same curve") {
  const HardwareProfile h200 = load_hardware("h200-sxm");
  const Fabric fabric(h200, 8);
  const CollectivePricer pricer(h200, fabric, PriceMode::kCalibrated);
  const GroupShape pairs{{{2, 1}}, {{4, 2}}};
  CHECK(&pricer.curve(CollectiveKind::kAllGather, pairs, 0.5) == &pricer.curve(CollectiveKind::kAllGather, pairs, 0.5));
  CHECK(&pricer.curve(CollectiveKind::kAllGather, pairs, 0.5) != &pricer.curve(CollectiveKind::kAllReduce, pairs, 0.5));
}

}  // namespace
}  // namespace shardplan
