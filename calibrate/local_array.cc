#include "calibrate/local_array.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/errors.h"

namespace shardplan {
namespace {

const LocalDim* find_dim(const LocalDims& dims, Dim dim) {
  const auto it = std::find_if(dims.begin(), dims.end(), [dim](const LocalDim& d) { return d.dim == dim; });
  return it == dims.end() ? nullptr : &*it;
}

std::int64_t stride_of(const LocalDims& dims, Dim dim) {
  std::int64_t stride = 1;
  for (auto it = dims.rbegin(); it != dims.rend() && it->dim != dim; ++it) {
    stride *= static_cast<std::int64_t>(it->ids.size());
  }
  return stride;
}

[[noreturn]] void fail_missing(const char* what, Dim dim, std::int64_t id) {
  throw InternalError(std::string(what) + ": " + dim_name(dim) + " index " + std::to_string(id) + " is not held here");
}

}  // namespace

std::int64_t element_count(const LocalDims& dims) {
  std::int64_t count = 1;
  for (const LocalDim& d : dims) count *= static_cast<std::int64_t>(d.ids.size());
  return count;
}

LocalArray::LocalArray(LocalDims local_dims, int floats_per_element, bool with_lse)
    : dims(std::move(local_dims)), width(floats_per_element) {
  values.assign(static_cast<std::size_t>(element_count(dims) * width), 0.0F);
  if (with_lse) lse.assign(static_cast<std::size_t>(rows()), -std::numeric_limits<float>::infinity());
}

std::int64_t LocalArray::columns() const { return dims.empty() ? 1 : static_cast<std::int64_t>(dims.back().ids.size()); }

std::int64_t LocalArray::rows() const {
  std::int64_t count = 1;
  for (std::size_t d = 0; d + 1 < dims.size(); ++d) count *= static_cast<std::int64_t>(dims[d].ids.size());
  return count;
}

bool LocalArray::has(Dim dim) const { return find_dim(dims, dim) != nullptr; }

const std::vector<std::int64_t>& LocalArray::ids(Dim dim) const {
  const LocalDim* found = find_dim(dims, dim);
  if (found == nullptr) throw InternalError(std::string("local array has no dimension ") + dim_name(dim));
  return found->ids;
}

LocalDims row_dims(const LocalDims& dims) {
  return dims.empty() ? LocalDims{} : LocalDims(dims.begin(), dims.end() - 1);
}

std::vector<std::int64_t> index_map(const std::vector<std::int64_t>& wanted, const std::vector<std::int64_t>& held) {
  std::vector<std::int64_t> result(wanted.size(), -1);
  if (wanted == held) {
    for (std::size_t i = 0; i < wanted.size(); ++i) result[i] = static_cast<std::int64_t>(i);
    return result;
  }
  std::unordered_map<std::int64_t, std::int64_t> where;
  for (std::size_t i = 0; i < held.size(); ++i) where.emplace(held[i], static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto it = where.find(wanted[i]);
    if (it != where.end()) result[i] = it->second;
  }
  return result;
}

std::vector<std::int64_t> offsets_of(const LocalDims& array, const LocalDims& dims, const char* what) {
  std::vector<std::int64_t> offsets{0};
  for (const LocalDim& d : dims) {
    const LocalDim* held = find_dim(array, d.dim);
    const std::int64_t stride = stride_of(array, d.dim);
    const auto map = held != nullptr ? index_map(d.ids, held->ids) : std::vector<std::int64_t>(d.ids.size(), 0);
    std::vector<std::int64_t> next;
    next.reserve(offsets.size() * map.size());
    for (const std::int64_t base : offsets) {
      for (std::size_t i = 0; i < map.size(); ++i) {
        if (map[i] < 0) fail_missing(what, d.dim, d.ids[i]);
        next.push_back(base + (held != nullptr ? map[i] * stride : 0));
      }
    }
    offsets = std::move(next);
  }
  return offsets;
}

}  // namespace shardplan
