#include "costmodel/conversion.h"

#include <algorithm>
#include <optional>

#include "costmodel/lower.h"

namespace shardplan {
namespace {

std::size_t common_prefix(const ShardList& a, const ShardList& b) {
  const std::size_t n = std::min(a.size(), b.size());
  std::size_t i = 0;
  while (i < n && a[i] == b[i]) ++i;
  return i;
}

std::vector<Dim> dims_of(const Placement& a, const Placement& b) {
  std::vector<Dim> dims;
  for (const Placement* p : {&a, &b}) {
    for (const Shard& shard : p->shards) {
      if (std::find(dims.begin(), dims.end(), shard.dim) == dims.end()) dims.push_back(shard.dim);
    }
  }
  return dims;
}

DigitSet set_of(const ShardList& shards) {
  DigitSet digits;
  for (const Shard& shard : shards) digits.insert(shard.digit);
  return digits;
}

void remove_from(DigitSet& set, DigitSet digits) {
  for (Digit d = 0; d < 32; ++d) {
    if (digits.contains(d)) set.erase(d);
  }
}

class Converter {
 public:
  Converter(const Placement& from, const Placement& to, bool exchange) : now_(from), to_(to), exchange_(exchange) {}

  std::vector<ConversionStep> run(const Mesh& mesh) {
    merge_lse();
    while (append(&Converter::is_free, NodeKind::kSlice) || append(&Converter::is_sum, NodeKind::kReduceScatter) || exchange_shards()) {
    }
    all_reduce();
    all_gather();
    while (append(&Converter::is_free, NodeKind::kSlice)) {
    }
    if (!(now_ == to_)) {
      throw LoweringRefusal("placement", "no single-collective way from " + now_.text(mesh) + " to " + to_.text(mesh));
    }
    return std::move(steps_);
  }

 private:
  void step(NodeKind kind, DigitSet group) { steps_.push_back({kind, group, now_}); }

  void merge_lse() {
    if (now_.lse.empty() || now_.lse == to_.lse) return;
    const DigitSet digits = now_.lse;
    const ShardList heads = to_.of(Dim::kHeads);
    const ShardList have = now_.of(Dim::kHeads);
    const bool heads_grow = common_prefix(have, heads) == have.size() &&
                            set_of({heads.begin() + static_cast<std::ptrdiff_t>(have.size()), heads.end()}).bits() == digits.bits();
    now_.lse = DigitSet();
    if (exchange_ && heads_grow) {
      now_.shards.insert(now_.shards.end(), heads.begin() + static_cast<std::ptrdiff_t>(have.size()), heads.end());
      step(NodeKind::kLseExchange, digits);
    } else {
      now_.sum |= digits;
      step(NodeKind::kLseGather, digits);
    }
  }

  [[nodiscard]] bool is_free(Digit d) const { return now_.at(d) == nullptr && !now_.sum.contains(d); }
  [[nodiscard]] bool is_sum(Digit d) const { return now_.sum.contains(d); }

  // Appends to every dimension the next wanted shards whose digit satisfies `ready`, as one node.
  bool append(bool (Converter::*ready)(Digit) const, NodeKind kind) {
    DigitSet group;
    ShardList added;
    for (const Dim dim : dims_of(now_, to_)) {
      const auto have = now_.of(dim);
      const auto want = to_.of(dim);
      if (common_prefix(have, want) != have.size()) continue;
      for (std::size_t i = have.size(); i < want.size() && (this->*ready)(want[i].digit); ++i) added.push_back(want[i]);
    }
    if (added.empty()) return false;
    for (const Shard& shard : added) group.insert(shard.digit);
    now_.shards.insert(now_.shards.end(), added.begin(), added.end());
    if (kind == NodeKind::kReduceScatter) remove_from(now_.sum, group);
    step(kind, group);
    return true;
  }

  // Shard(a) -> Shard(b) over the digits at a's tail that b wants next, or another layout of the same dimension.
  bool exchange_shards() {
    for (const Dim from : dims_of(now_, to_)) {
      const auto have = now_.of(from);
      const std::size_t keep = common_prefix(have, to_.of(from));
      if (keep == have.size()) continue;
      const ShardList tail(have.begin() + static_cast<std::ptrdiff_t>(keep), have.end());
      for (const Dim into : dims_of(now_, to_)) {
        const auto target = to_.of(into);
        const std::size_t start = into == from ? keep : now_.of(into).size();
        if (into != from && common_prefix(now_.of(into), target) != start) continue;
        if (target.size() < start + tail.size()) continue;
        const ShardList added(target.begin() + static_cast<std::ptrdiff_t>(start),
                                       target.begin() + static_cast<std::ptrdiff_t>(start + tail.size()));
        if (set_of(added) != set_of(tail)) continue;
        now_.remove(set_of(tail));
        now_.shards.insert(now_.shards.end(), added.begin(), added.end());
        step(NodeKind::kAllToAll, set_of(tail));
        return true;
      }
    }
    return false;
  }

  void all_reduce() {
    DigitSet digits = now_.sum;
    remove_from(digits, to_.sum);
    if (digits.empty()) return;
    remove_from(now_.sum, digits);
    step(NodeKind::kAllReduce, digits);
  }

  void all_gather() {
    DigitSet group;
    for (const Dim dim : dims_of(now_, to_)) {
      const auto have = now_.of(dim);
      for (std::size_t i = common_prefix(have, to_.of(dim)); i < have.size(); ++i) group.insert(have[i].digit);
    }
    if (group.empty()) return;
    now_.remove(group);
    step(NodeKind::kAllGather, group);
  }

  Placement now_;
  const Placement& to_;
  bool exchange_;
  std::vector<ConversionStep> steps_;
};

}  // namespace

std::vector<ConversionStep> conversion_steps(const Placement& from, const Placement& to, bool exchange_lse, const Mesh& mesh) {
  if (from == to) return {};
  return Converter(from, to, exchange_lse).run(mesh);
}

bool is_local(const Placement& from, const Placement& to) {
  if (from.sum != to.sum || from.lse != to.lse || from.routed != to.routed) return false;
  for (const Dim dim : dims_of(from, to)) {
    if (common_prefix(from.of(dim), to.of(dim)) != from.of(dim).size()) return false;
  }
  return true;
}

}  // namespace shardplan
