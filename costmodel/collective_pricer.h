// Collective prices for the groups of a cluster, remembered: many configurations share their groups.
//
// A group is named by the shape of its ranks (strides and sizes on the devices), so its links are looked up once, and
// its prices are kept on a grid of message sizes (two per octave) and interpolated linearly in bytes between grid points;
// against the direct price this errs by less than 1 % off an algorithm switch. Thread-safe; the values do not depend
// on the order of calls.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "costmodel/collectives/collective.h"
#include "costmodel/kernel_pricer.h"
#include "hwprofiles/fabric.h"
#include "hwprofiles/profile.h"

namespace shardplan {

// Ranks of one group on devices: rank offsets are mixed-radix over (size, device stride) from `first`; concurrent groups
// repeat it over the remaining strides of the stage.
struct GroupShape {
  struct Axis { std::int64_t size; std::int64_t stride; };
  std::vector<Axis> members;     // of the group, outermost first
  std::vector<Axis> repeats;     // of its siblings at work at the same time
  friend bool operator<(const GroupShape& a, const GroupShape& b);
};

// What dispatch and combine know of their tokens.
struct TokenCopies {
  double token_ratio = 0;        // bytes of a rank's tokens, each counted once, of those of the message
  double experts_per_token = 1;
  bool captured = false;         // in a captured graph, whose kernels ask nothing of the host
  friend auto operator<=>(const TokenCopies&, const TokenCopies&) = default;
};

class CollectiveCurve {
 public:
  // Time of one collective of `kind` over the group, `sent_ratio` = sent bytes / message bytes.
  [[nodiscard]] Seconds time(double message_bytes) const;
  [[nodiscard]] CollectivePrice direct(double message_bytes) const;   // not interpolated, with the algorithm's name
  [[nodiscard]] const GroupLinks& links() const;

  struct Impl;
  explicit CollectiveCurve(std::unique_ptr<Impl> impl);
  ~CollectiveCurve();

 private:
  std::unique_ptr<Impl> impl_;
};

class CollectivePricer {
 public:
  // Both must outlive the pricer.
  CollectivePricer(const HardwareProfile& hardware, const Fabric& fabric, PriceMode mode, bool graph_captured = true, KernelOptions kernels = {});
  ~CollectivePricer();
  [[nodiscard]] const HardwareProfile& hardware() const;
  [[nodiscard]] PriceMode mode() const;
  [[nodiscard]] const KernelPricer& kernels() const;   // of the same machine
  // The curve of (kind, group, ratio); lives as long as the pricer. `own_kernel`: the engine's own, whatever NCCL has.
  [[nodiscard]] const CollectiveCurve& curve(CollectiveKind kind, const GroupShape& group, double sent_ratio, const TokenCopies& tokens = {},
                                             bool own_kernel = false) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shardplan
