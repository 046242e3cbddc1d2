#include "planner/measured/point_report.h"

#include <algorithm>
#include <cmath>

#include "base/natural_order.h"

namespace shardplan {
namespace {

void add(std::vector<ErrorPair>& to, const MeasuredPoint& p) { to.push_back({p.predicted, p.measured, p.p10, p.p90}); }

bool is_derived(const PointReport& report, const MeasuredPoint& p) { return report.quantities[p.quantity].derived; }

void add_groups(PointReport& report, std::size_t grouping) {
  const PointGrouping& of = report.groupings[grouping];
  std::vector<std::vector<ErrorPair>> members(of.names.size());
  for (const MeasuredPoint& p : report.points) {
    if (!p.apart && p.predicted > 0 && p.groups[grouping] > 0) add(members[p.groups[grouping]], p);
  }
  std::vector<PointGroup> groups;
  for (std::size_t i = 1; i < members.size(); ++i) {
    if (!members[i].empty()) groups.push_back({of.by, of.names[i], stats_of(members[i])});
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const PointGroup& a, const PointGroup& b) { return natural_less(a.name, b.name); });
  report.groups.insert(report.groups.end(), groups.begin(), groups.end());
}

}  // namespace

std::uint16_t group_index(PointReport& report, std::size_t grouping, const std::string& name) {
  std::vector<std::string>& names = report.groupings[grouping].names;
  const auto at = std::find(names.begin() + 1, names.end(), name);
  if (at != names.end()) return static_cast<std::uint16_t>(at - names.begin());
  names.push_back(name);
  return static_cast<std::uint16_t>(names.size() - 1);
}

std::int64_t measured_points(const PointReport& report) {
  return std::count_if(report.points.begin(), report.points.end(),
                       [&](const MeasuredPoint& p) { return !is_derived(report, p); });
}

void summarise(PointReport& report, std::size_t worst) {
  std::vector<ErrorPair> all, apart;
  for (const MeasuredPoint& p : report.points) {
    if (p.predicted > 0 && !is_derived(report, p)) add(p.apart ? apart : all, p);
  }
  report.overall = stats_of(all);
  report.apart = stats_of(apart);
  report.groups.clear();
  for (std::size_t g = 0; g < report.groupings.size(); ++g) add_groups(report, g);
  const auto off = [&](const WorstPoint& w) {
    const MeasuredPoint& p = report.points[w.point];
    return std::abs(std::log(p.predicted / p.measured));
  };
  std::stable_sort(report.worst.begin(), report.worst.end(),
                   [&](const WorstPoint& a, const WorstPoint& b) { return off(a) > off(b); });
  if (report.worst.size() > worst) report.worst.resize(worst);
}

}  // namespace shardplan
