// Measured points of any kind judged: one quantity each, errors over all and by group, the worst with what they are
// made of.
//
// Used where rows are not serving points: kernels and collectives, static batches, published throughputs. Points that
// are scored apart (a cache that cannot hold the batch, a kernel series that is slow as a whole) count in no group.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "planner/measured/error_stats.h"

namespace shardplan {

inline constexpr std::size_t kMostGroupings = 8;

struct MeasuredPoint {
  std::int32_t line = 0;       // of its file
  std::uint16_t file = 0;      // index into PointReport::files
  std::uint16_t quantity = 0;  // index into PointReport::quantities
  bool apart = false;
  double measured = 0, predicted = 0;                  // 0: not predicted
  double p10 = 1, p90 = 1;                             // of measured/predicted; 1, 1: no interval
  std::array<std::uint16_t, kMostGroupings> groups{};  // by grouping: index into its names; 0: none
};

struct PointQuantity {
  std::string name, unit;  // "decode step", "ms"
  bool derived = false;    // from other points of the report: counts in its groups, not in `overall`
};

struct PointGrouping {
  std::string by;
  std::vector<std::string> names{""};  // in order of appearance; the first is "none"
};

struct PointGroup {
  std::string by, name;
  ErrorStats errors;
};

struct WorstPoint {
  std::size_t point = 0;
  std::string what;       // "gemm.bf16: n=4096, k=4096, m=64"
  std::string breakdown;  // "em 61 %, t0 22 %"
};

// What a fit says of points that it did not see, as its row records it.
struct HeldOutRow {
  std::string name;  // "h200-sxm gemm.bf16"
  std::int64_t points = 0;
  double mean = 0, median = 0;  // of |predicted/measured - 1|; 0: none were held out
  std::string on;
};

struct PointReport {
  std::string kind;  // "kernels", "static batches", "published points"
  std::string apart_name = "scored apart";
  std::vector<std::string> files;
  std::vector<PointQuantity> quantities;
  std::vector<PointGrouping> groupings;
  std::vector<MeasuredPoint> points;
  std::map<std::string, std::int64_t> left_out;       // why -> points that are not scored
  std::map<std::string, std::int64_t> not_predicted;  // why -> points
  std::vector<WorstPoint> worst;                      // worst first
  std::vector<HeldOutRow> held_out;
  std::vector<std::string> notes;  // lines for people
  // Filled by summarise.
  ErrorStats overall, apart;
  std::vector<PointGroup> groups;
};

// The index of `name` in grouping `by` of the report, added where it is new.
[[nodiscard]] std::uint16_t group_index(PointReport& report, std::size_t grouping, const std::string& name);
// Points that are no ratio of others.
[[nodiscard]] std::int64_t measured_points(const PointReport& report);
// Statistics over all and by group; keeps the `worst` worst points.
void summarise(PointReport& report, std::size_t worst);

}  // namespace shardplan
