#include "calibrate/transfer.h"

#include <algorithm>
#include <bit>
#include <map>

#include "base/errors.h"

namespace shardplan {
namespace {

using Members = std::uint64_t;   // bit i: i-th rank of the group

// Along one dimension: who holds each wanted index, and where.
struct DimHolders {
  std::vector<Members> members;                   // by wanted index
  std::vector<std::vector<std::int64_t>> offset;  // [member][wanted index], times stride; -1 when not held
};

DimHolders holders_of(const TransferRequest& request, const std::vector<int>& group, std::size_t dim, const std::vector<std::int64_t>& wanted) {
  DimHolders result{std::vector<Members>(wanted.size(), 0), {}};
  for (std::size_t m = 0; m < group.size(); ++m) {
    const LocalDims& held = request.before[static_cast<std::size_t>(group[m])];
    std::int64_t stride = 1;
    for (std::size_t d = dim + 1; d < held.size(); ++d) stride *= static_cast<std::int64_t>(held[d].ids.size());
    auto map = index_map(wanted, held[dim].ids);
    for (std::size_t i = 0; i < map.size(); ++i) {
      if (map[i] < 0) continue;
      result.members[i] |= Members{1} << m;
      map[i] *= stride;
    }
    result.offset.push_back(std::move(map));
  }
  return result;
}

// Members by their coordinate on the reduced digits: each set gives one share of every element.
std::vector<Members> shares_of(const TransferRequest& request, const std::vector<int>& group) {
  DigitList digits;
  for (int d = 0; d < request.mesh.digit_count(); ++d) {
    if (request.reduced.contains(static_cast<Digit>(d))) digits.push_back(static_cast<Digit>(d));
  }
  std::map<std::int64_t, Members> shares;
  for (std::size_t m = 0; m < group.size(); ++m) shares[request.mesh.part(group[m], digits)] |= Members{1} << m;
  std::vector<Members> result;
  for (const auto& [coordinate, members] : shares) result.push_back(members);
  return result;
}

class Receiver {
 public:
  Receiver(const TransferRequest& request, const std::vector<int>& group, int rank)
      : request_(request), group_(group), rank_(rank), wanted_(request.after[static_cast<std::size_t>(rank)]) {
    for (std::size_t d = 0; d < wanted_.size(); ++d) holders_.push_back(holders_of(request, group, d, wanted_[d].ids));
    shares_ = shares_of(request, group);
    self_ = static_cast<std::size_t>(std::find(group.begin(), group.end(), rank) - group.begin());
  }

  std::vector<std::vector<Move>> moves() {
    std::vector<std::vector<Move>> result(group_.size());
    const std::int64_t count = element_count(wanted_);
    std::vector<std::size_t> index(wanted_.size(), 0);
    for (std::int64_t flat = 0; flat < count; ++flat) {
      for (const Members share : shares_) {
        const std::size_t owner = owner_of(index, share);
        result[owner].push_back({offset_at(index, owner), flat});
      }
      for (std::size_t d = index.size(); d-- > 0;) {   // next element, row-major
        if (++index[d] < wanted_[d].ids.size()) break;
        index[d] = 0;
      }
    }
    return result;
  }

 private:
  [[nodiscard]] std::size_t owner_of(const std::vector<std::size_t>& index, Members members) const {
    for (std::size_t d = 0; d < index.size(); ++d) members &= holders_[d].members[index[d]];
    if (members == 0) fail(index);
    if (((members >> self_) & 1U) != 0) return self_;
    return static_cast<std::size_t>(std::countr_zero(members));
  }

  [[nodiscard]] std::int64_t offset_at(const std::vector<std::size_t>& index, std::size_t member) const {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < index.size(); ++d) offset += holders_[d].offset[member][index[d]];
    return offset;
  }

  [[noreturn]] void fail(const std::vector<std::size_t>& index) const {
    std::string element;
    for (std::size_t d = 0; d < index.size(); ++d) {
      element += std::string(" ") + dim_name(wanted_[d].dim) + "=" + std::to_string(wanted_[d].ids[index[d]]);
    }
    throw InternalError(request_.what + ": nobody in the group of rank " + std::to_string(rank_) + " has its element" + element);
  }

  const TransferRequest& request_;
  const std::vector<int>& group_;
  int rank_;
  const LocalDims& wanted_;
  std::vector<DimHolders> holders_;
  std::vector<Members> shares_;
  std::size_t self_ = 0;
};

}  // namespace

const std::vector<Move>& Transfer::between(int sender, int receiver) const {
  const auto& members = group[static_cast<std::size_t>(receiver)];
  const auto it = std::find(members.begin(), members.end(), sender);
  ensure(it != members.end(), "sender outside the receiver's group");
  return moves[static_cast<std::size_t>(receiver)][static_cast<std::size_t>(it - members.begin())];
}

Transfer plan_transfer(const TransferRequest& request) {
  Transfer transfer;
  for (int rank = 0; rank < request.mesh.ranks(); ++rank) {
    transfer.group.push_back(request.mesh.group_of(rank, request.group));
    transfer.moves.push_back(Receiver(request, transfer.group.back(), rank).moves());
    for (const auto& moves : transfer.moves.back()) transfer.part = std::max(transfer.part, static_cast<std::int64_t>(moves.size()));
  }
  return transfer;
}

}  // namespace shardplan
