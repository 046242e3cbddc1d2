#include "costmodel/mesh.h"

#include <algorithm>

#include "base/errors.h"

namespace shardplan {
namespace {

std::vector<std::int64_t> sorted_unique(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace

std::optional<Mesh> Mesh::refine(std::int64_t ranks, std::vector<std::int64_t> strides) {
  ensure(ranks >= 1, "a mesh needs at least one rank");
  strides.push_back(1);
  strides.push_back(ranks);
  strides = sorted_unique(std::move(strides));
  ensure(strides.front() >= 1, "mesh strides are positive");
  if (strides.back() != ranks) return std::nullopt;
  Mesh mesh;
  mesh.ranks_ = ranks;
  for (std::size_t i = strides.size() - 1; i > 0; --i) {
    if (strides[i] % strides[i - 1] != 0) return std::nullopt;
    mesh.sizes_.push_back(strides[i] / strides[i - 1]);
    mesh.strides_.push_back(strides[i - 1]);
  }
  return mesh;
}

DigitList Mesh::digits_between(std::int64_t inner_stride, std::int64_t outer_stride) const {
  DigitList digits;
  std::int64_t product = 1;
  for (std::size_t d = 0; d < sizes_.size(); ++d) {
    if (strides_[d] < inner_stride || strides_[d] >= outer_stride) continue;
    digits.push_back(static_cast<Digit>(d));
    product *= sizes_[d];
  }
  ensure(product * inner_stride == outer_stride, "axis strides are not strides of the mesh");
  return digits;
}

std::int64_t Mesh::part(std::int64_t rank, const DigitList& digits) const {
  std::int64_t number = 0;
  for (const Digit d : digits) number = number * sizes_[d] + coordinate(rank, d);
  return number;
}

std::int64_t Mesh::size(const DigitList& digits) const {
  std::int64_t product = 1;
  for (const Digit d : digits) product *= sizes_[d];
  return product;
}

std::int64_t Mesh::size(DigitSet digits) const {
  std::int64_t product = 1;
  for (std::size_t d = 0; d < sizes_.size(); ++d) {
    if (digits.contains(static_cast<Digit>(d))) product *= sizes_[d];
  }
  return product;
}

std::vector<int> Mesh::group_of(std::int64_t rank, DigitSet group) const {
  std::vector<int> members = {static_cast<int>(rank)};
  for (std::size_t d = 0; d < sizes_.size(); ++d) {
    if (group.contains(static_cast<Digit>(d)))
      members[0] -= static_cast<int>(coordinate(rank, static_cast<Digit>(d)) * strides_[d]);
  }
  for (std::size_t d = 0; d < sizes_.size(); ++d) {  // outermost first, so the members stay ascending
    if (!group.contains(static_cast<Digit>(d))) continue;
    std::vector<int> wider;
    for (const int member : members) {
      for (std::int64_t c = 0; c < sizes_[d]; ++c) wider.push_back(member + static_cast<int>(c * strides_[d]));
    }
    members = std::move(wider);
  }
  return members;
}

std::vector<std::vector<int>> Mesh::groups(DigitSet group) const {
  std::vector<std::vector<int>> all;
  for (std::int64_t rank = 0; rank < ranks_; ++rank) {
    std::vector<int> members = group_of(rank, group);
    if (members.front() == rank) all.push_back(std::move(members));
  }
  return all;
}

}  // namespace shardplan
