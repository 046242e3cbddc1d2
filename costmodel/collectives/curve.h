// The curve that every algorithm is priced with: a latency that grows with the steps, and a volume term that ramps
// up to the link's bandwidth like a power of the volume:
//   t = base + per_rank*steps + (F + F^ramp * half^(1-ramp)) / (bandwidth*efficiency)
// F [B]: what the busiest rank sends; half [B]: the volume at which the ramp doubles the volume term.
// Source: fits of measured NCCL collectives in one NVLink node; the ramp halved the error of a straight line
// (15 % to 7.5 % mean). Wrong at cliffs where a library switches its algorithm.
#pragma once

#include "base/quantity.h"
#include "costmodel/collectives/collective.h"

namespace shardplan {

// Volumes are doubles here: parts of a message need not be whole bytes.
struct Volume {
  double bytes = 0;
};

[[nodiscard]] Seconds step_latency(const CollectiveCoefficients& coefficients, int steps);
[[nodiscard]] Seconds transfer_time(Volume sent, BytesPerSecond bandwidth, const CollectiveCoefficients& coefficients);

// What the busiest rank sends: as the request counts it, else the ring's share of the message:
// 2(N-1)/N for an all-reduce, (N-1)/N for the others, all of it point to point.
[[nodiscard]] Volume sent_volume(const CollectiveRequest& request, int ranks);

// Rows of the profile for this kind of collective, inside a domain and across domains.
[[nodiscard]] const CollectiveCoefficients& inside(CollectiveKind kind, const HardwareProfile& profile);
// Inside one domain: the faster of the library's two ways, with flags inside the data (the row "ll_<kind>": little latency,
// part of the bandwidth) and without. The library changes over about where they cross.
[[nodiscard]] Seconds inside_time(CollectiveKind kind, Volume sent, int ranks, BytesPerSecond bandwidth, const HardwareProfile& profile);
// Across domains: `steps` steps inside them, then `remote` and the volume at the path's bandwidth; the faster of both
// ways, of which the one with flags carries twice the volume.
[[nodiscard]] Seconds across_time(CollectiveKind kind, int steps, Seconds remote, Volume sent, BytesPerSecond bandwidth, const HardwareProfile& profile);
[[nodiscard]] const CollectiveCoefficients& across(CollectiveKind kind, const HardwareProfile& profile);

// One exchange between domains: the library's step and the path there, both ways where the kind reduces and then
// broadcasts.
[[nodiscard]] Seconds exchange_latency(CollectiveKind kind, const GroupLinks& links, const HardwareProfile& profile);

// ceil(log2(count)) for count >= 1.
[[nodiscard]] int log2_ceil(int count);

}  // namespace shardplan
