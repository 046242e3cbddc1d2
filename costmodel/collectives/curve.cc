#include "costmodel/collectives/curve.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace shardplan {

Seconds step_latency(const CollectiveCoefficients& coefficients, int steps) {
  return coefficients.base + coefficients.per_rank * steps;
}

Seconds transfer_time(Volume sent, BytesPerSecond bandwidth, const CollectiveCoefficients& coefficients) {
  if (sent.bytes <= 0) return Seconds(0);
  const auto half = static_cast<double>(coefficients.half.value());
  const double ramp = std::pow(sent.bytes, coefficients.ramp) * std::pow(half, 1 - coefficients.ramp);
  return Seconds((sent.bytes + ramp) / (bandwidth.value() * coefficients.efficiency));
}

Volume sent_volume(const CollectiveRequest& request, int ranks) {
  if (request.sent_bytes > 0) return {request.sent_bytes};
  if (request.kind == CollectiveKind::kSendReceive) return {request.message_bytes};
  const double others_share = (ranks - 1.0) / ranks;
  return {request.message_bytes * others_share * (request.kind == CollectiveKind::kAllReduce ? 2 : 1)};
}

const CollectiveCoefficients& inside(CollectiveKind kind, const HardwareProfile& profile) {
  return collective_coefficients(profile, collective_name(kind));
}

namespace {

// The row of the library's low-latency way; nullptr without one.
const CollectiveCoefficients* quick_row(CollectiveKind kind, const HardwareProfile& profile) {
  const auto row = profile.collectives.find("ll_" + std::string(collective_name(kind)));
  return row == profile.collectives.end() ? nullptr : &row->second;
}

}  // namespace

Seconds inside_time(CollectiveKind kind, Volume sent, int ranks, BytesPerSecond bandwidth, const HardwareProfile& profile) {
  const CollectiveCoefficients& bulk = inside(kind, profile);
  const Seconds plain = step_latency(bulk, ranks - 1) + transfer_time(sent, bandwidth, bulk);
  const CollectiveCoefficients* quick = quick_row(kind, profile);
  return quick == nullptr ? plain : std::min(plain, step_latency(*quick, ranks - 1) + transfer_time(sent, bandwidth, *quick));
}

Seconds across_time(CollectiveKind kind, int steps, Seconds remote, Volume sent, BytesPerSecond bandwidth, const HardwareProfile& profile) {
  const CollectiveCoefficients& path = across(kind, profile);
  const Seconds plain = step_latency(inside(kind, profile), steps) + transfer_time(sent, bandwidth, path);
  const CollectiveCoefficients* quick = quick_row(kind, profile);
  if (quick == nullptr) return remote + plain;
  return remote + std::min(plain, step_latency(*quick, steps) + transfer_time({2 * sent.bytes}, bandwidth, path));
}

const CollectiveCoefficients& across(CollectiveKind kind, const HardwareProfile& profile) {
  return collective_coefficients(profile, "inter." + std::string(collective_name(kind)));
}

Seconds exchange_latency(CollectiveKind kind, const GroupLinks& links, const HardwareProfile& profile) {
  const int ways = kind == CollectiveKind::kAllReduce ? 2 : 1;
  return across(kind, profile).per_rank + links.latency * ways;
}

int log2_ceil(int count) {
  int steps = 0;
  while ((1LL << steps) < count) ++steps;
  return steps;
}

}  // namespace shardplan
