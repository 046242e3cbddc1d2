// Collectives of a measured table, priced by rows of a profile whose parameters a fit tries or a profile has.
//
// A row's parameters in this order: base and per_rank in us, efficiency, half in MB, ramp; see CollectiveCoefficients.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "costmodel/collectives/collective.h"
#include "hwprofiles/fabric.h"
#include "hwprofiles/profile.h"

namespace shardplan {

using RowParameters = std::array<double, 5>;
[[nodiscard]] RowParameters row_parameters(const CollectiveCoefficients& row);
[[nodiscard]] CollectiveCoefficients row_with(const double* parameters);

struct CollectiveSample {
  double message_bytes = 0;
  double sent_bytes = 0;  // as of CollectiveRequest
  int ranks = 2;          // the first ones
  double token_bytes = 0; // likewise
  double experts_per_token = 1;
};

// Each trial overwrites rows of the profile that is held: one thread per instance.
class PricedCollectives {
 public:
  PricedCollectives(const HardwareProfile& hardware, CollectiveKind kind, bool graph)
      : profile_(hardware), kind_(kind), graph_(graph) {}

  [[nodiscard]] CollectiveKind kind() const { return kind_; }
  [[nodiscard]] bool graph() const { return graph_; }
  [[nodiscard]] const HardwareProfile& profile() const { return profile_; }
  [[nodiscard]] bool empty() const { return samples_.empty(); }
  // A row that is never chosen.
  void leave_out(const std::string& row) { profile_.collectives[row].base = Seconds(1); }
  const GroupLinks& links(int ranks);
  void add(const CollectiveSample& sample);
  // `parameters`: those of each of `rows`, one behind the other.
  double predicted_us(std::size_t sample, const std::vector<std::string>& rows, const double* parameters);

 private:
  HardwareProfile profile_;
  CollectiveKind kind_;
  bool graph_;
  std::map<int, GroupLinks> links_;  // by ranks
  std::vector<CollectiveSample> samples_;
};

}  // namespace shardplan
