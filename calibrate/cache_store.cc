#include "calibrate/cache_store.h"

#include <algorithm>

#include "base/errors.h"
#include "calibrate/token_id.h"

namespace shardplan {
namespace {

LocalDims rest_of(const LocalArray& array) { return {array.dims.begin() + 1, array.dims.end()}; }

[[noreturn]] void fail(const CacheName& name, std::int64_t token) {
  throw InternalError("cached row (request " + std::to_string(request_of(token)) + ", position " + std::to_string(position_of(token)) +
                      ") of " + name.tensor + " is on another rank");
}

}  // namespace

void CacheStore::put(const CacheName& name, const LocalArray& rows) {
  const LocalDims rest = rest_of(rows);
  const std::int64_t width = element_count(rest);
  auto& stored = rows_[name];
  const auto& tokens = rows.dims.front().ids;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto first = rows.values.begin() + static_cast<std::int64_t>(i) * width;
    stored.insert_or_assign(tokens[i], Row{rest, {first, first + width}});
  }
}

void CacheStore::get(const CacheName& name, LocalArray& out) const {
  const LocalDims rest = rest_of(out);
  const std::int64_t width = element_count(rest);
  const auto& tokens = out.dims.front().ids;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!has(name, tokens[i])) fail(name, tokens[i]);
    const Row& row = rows_.at(name).at(tokens[i]);
    if (row.rest != rest) fail(name, tokens[i]);
    std::copy(row.values.begin(), row.values.end(), out.values.begin() + static_cast<std::int64_t>(i) * width);
  }
}

bool CacheStore::has(const CacheName& name, std::int64_t token) const {
  const auto it = rows_.find(name);
  return it != rows_.end() && it->second.contains(token);
}

}  // namespace shardplan
