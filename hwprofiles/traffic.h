// The flows of a group's traffic patterns, as (from device, to device, share) where share is the part of what one
// rank sends that takes this flow.
//
// Ring: rank order, cut into runs of ranks that share a domain. As NCCL does, as many rings as the shortest run is
// long work side by side, each leaving a run at another member, so that every NIC of a host carries its part. In a
// domain that is a mesh the rings go round in different orders, so that what they carry inside a run is spread evenly
// over its pairs: n ranks use n-1 links each, and two ranks only one.
// Wrong where a library builds its rings by other rules than rank order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace shardplan {

// A group split by fast domain.
class GroupLayout {
 public:
  // `domain_of(device)` names the domain, `mesh` says that its devices are joined pair by pair; `group` must outlive
  // this.
  template <class DomainOf>
  GroupLayout(std::span<const int> group, DomainOf domain_of, bool mesh) : group_(group), mesh_(mesh) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      const int domain = domain_of(group[i]);
      if (i == 0 || domain != domain_of(group[i - 1])) runs_.push_back({i, 0});
      ++runs_.back().second;
      auto entry = std::find_if(domains_.begin(), domains_.end(), [&](const auto& d) { return d.first == domain; });
      if (entry == domains_.end()) entry = domains_.insert(domains_.end(), {domain, {}});
      entry->second.push_back(group[i]);
    }
    merge_last_run(domain_of);
  }

  [[nodiscard]] int domains() const { return static_cast<int>(domains_.size()); }
  [[nodiscard]] bool touches(int domain) const {
    return std::any_of(domains_.begin(), domains_.end(), [domain](const auto& entry) { return entry.first == domain; });
  }
  [[nodiscard]] std::size_t smallest_domain() const;
  [[nodiscard]] std::size_t largest_domain() const;

  template <class Emit>
  void ring(Emit emit) const;  // over the whole group
  template <class Emit>
  void ring_inside_domains(Emit emit) const;  // one per domain
  template <class Emit>
  void all_to_all(Emit emit) const;
  template <class Emit>
  void across(Emit emit) const;  // each domain's k-th member to the next domain's k-th

 private:
  template <class DomainOf>
  void merge_last_run(DomainOf domain_of);
  // Member `index` of `run`, counted round.
  [[nodiscard]] int member(const std::pair<std::size_t, std::size_t>& run, std::size_t index) const {
    return group_[(run.first + index % run.second) % group_.size()];
  }

  template <class Emit>
  static void every_pair(std::span<const int> members, double share, Emit emit);
  template <class Emit>
  void round_run(std::size_t run, std::size_t ring, std::size_t rings, Emit emit) const;

  std::span<const int> group_;
  bool mesh_;
  std::vector<std::pair<std::size_t, std::size_t>> runs_;  // first rank, length
  std::vector<std::pair<int, std::vector<int>>> domains_;  // by first appearance
};

// The last run continues the first where the ring closes.
template <class DomainOf>
void GroupLayout::merge_last_run(DomainOf domain_of) {
  if (runs_.size() < 2 || domain_of(group_.front()) != domain_of(group_.back())) return;
  runs_.front() = {runs_.back().first, runs_.back().second + runs_.front().second};
  runs_.pop_back();
}

inline std::size_t GroupLayout::smallest_domain() const {
  std::size_t smallest = group_.size();
  for (const auto& [domain, members] : domains_) smallest = std::min(smallest, members.size());
  return smallest;
}

inline std::size_t GroupLayout::largest_domain() const {
  std::size_t largest = 0;
  for (const auto& [domain, members] : domains_) largest = std::max(largest, members.size());
  return largest;
}

template <class Emit>
void GroupLayout::ring(Emit emit) const {
  if (runs_.size() == 1) {
    if (mesh_) return all_to_all(emit);
    for (std::size_t i = 0; i < group_.size(); ++i) emit(group_[i], group_[(i + 1) % group_.size()], 1.0);
    return;
  }
  std::size_t rings = group_.size();
  for (const auto& run : runs_) rings = std::min(rings, run.second);
  const double share = 1.0 / static_cast<double>(rings);
  for (std::size_t ring = 0; ring < rings; ++ring) {
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      // Enters run r just after its member on this ring's rail, goes round, and leaves at that member. A mesh is free
      // to enter on the rail where the run before left, and so never hands a message on to another rail's device.
      const auto& run = runs_[r];
      const auto& next = runs_[(r + 1) % runs_.size()];
      round_run(r, ring, rings, emit);
      emit(member(run, ring * run.second / rings), member(next, ring * next.second / rings + (mesh_ ? 0 : 1)), share);
    }
  }
}

// What one of `rings` rings sends between the members of a run of length L: L-1 hops, on a mesh spread over all pairs.
template <class Emit>
void GroupLayout::round_run(std::size_t run, std::size_t ring, std::size_t rings, Emit emit) const {
  const std::size_t length = runs_[run].second;
  const double share = 1.0 / static_cast<double>(rings);
  for (std::size_t i = 0; mesh_ && i < length * length; ++i) {
    const std::size_t from = i / length, to = i % length;
    if (from != to) emit(member(runs_[run], from), member(runs_[run], to), share / static_cast<double>(length));
  }
  const std::size_t leave = ring * length / rings;
  for (std::size_t step = 1; !mesh_ && step < length; ++step)
    emit(member(runs_[run], leave + step), member(runs_[run], leave + step + 1), share);
}

template <class Emit>
void GroupLayout::every_pair(std::span<const int> members, double share, Emit emit) {
  for (const int from : members) {
    for (const int to : members) {
      if (from != to) emit(from, to, share);
    }
  }
}

template <class Emit>
void GroupLayout::ring_inside_domains(Emit emit) const {
  for (const auto& [domain, members] : domains_) {
    if (mesh_) {
      every_pair(members, 1.0 / std::max(1.0, static_cast<double>(members.size()) - 1), emit);
      continue;
    }
    for (std::size_t i = 0; members.size() > 1 && i < members.size(); ++i) {
      emit(members[i], members[(i + 1) % members.size()], 1.0);
    }
  }
}

template <class Emit>
void GroupLayout::all_to_all(Emit emit) const {
  every_pair(group_, 1.0 / static_cast<double>(group_.size() - 1), emit);
}

template <class Emit>
void GroupLayout::across(Emit emit) const {
  for (std::size_t d = 0; domains_.size() > 1 && d < domains_.size(); ++d) {
    const auto& members = domains_[d].second;
    const auto& next = domains_[(d + 1) % domains_.size()].second;
    for (std::size_t i = 0; i < members.size(); ++i) emit(members[i], next[i % next.size()], 1.0);
  }
}

}  // namespace shardplan
