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

// Calls visit(first index, count) for each stretch of consecutive positions of one request.
template <class Visit>
void for_each_run(const std::vector<std::int64_t>& tokens, Visit visit) {
  for (std::size_t first = 0; first < tokens.size();) {
    std::size_t end = first + 1;
    while (end < tokens.size() && tokens[end] == tokens[end - 1] + 1) ++end;
    visit(first, end - first);
    first = end;
  }
}

}  // namespace

void CacheStore::put(const CacheName& name, const LocalArray& rows) {
  const LocalDims rest = rest_of(rows);
  const std::int64_t width = element_count(rest);
  auto& requests = rows_[name];
  const auto& tokens = rows.dims.front().ids;
  for_each_run(tokens, [&](std::size_t first, std::size_t count) {
    RequestRows& request = requests[request_of(tokens[first])];
    if (request.rest != rest) request = {rest, width, {}, {}};
    const auto begin = static_cast<std::size_t>(position_of(tokens[first]));
    if (request.stored.size() < begin + count) {
      request.stored.resize(begin + count, false);
      request.values.resize((begin + count) * static_cast<std::size_t>(width));
    }
    std::fill_n(request.stored.begin() + static_cast<std::ptrdiff_t>(begin), count, true);
    std::copy_n(rows.values.begin() + static_cast<std::int64_t>(first) * width, static_cast<std::int64_t>(count) * width,
                request.values.begin() + static_cast<std::int64_t>(begin) * width);
  });
}

void CacheStore::get(const CacheName& name, LocalArray& out) const {
  const LocalDims rest = rest_of(out);
  const std::int64_t width = element_count(rest);
  const auto& tokens = out.dims.front().ids;
  const auto requests = rows_.find(name);
  for_each_run(tokens, [&](std::size_t first, std::size_t count) {
    if (requests == rows_.end()) fail(name, tokens[first]);
    const auto found = requests->second.find(request_of(tokens[first]));
    if (found == requests->second.end() || found->second.rest != rest) fail(name, tokens[first]);
    const RequestRows& request = found->second;
    const auto begin = static_cast<std::size_t>(position_of(tokens[first]));
    for (std::size_t i = 0; i < count; ++i) {
      if (begin + i >= request.stored.size() || !request.stored[begin + i]) fail(name, tokens[first + i]);
    }
    std::copy_n(request.values.begin() + static_cast<std::int64_t>(begin) * width, static_cast<std::int64_t>(count) * width,
                out.values.begin() + static_cast<std::int64_t>(first) * width);
  });
}

bool CacheStore::has(const CacheName& name, std::int64_t token) const {
  const auto requests = rows_.find(name);
  if (requests == rows_.end()) return false;
  const auto request = requests->second.find(request_of(token));
  const auto position = static_cast<std::size_t>(position_of(token));
  return request != requests->second.end() && position < request->second.stored.size() && request->second.stored[position];
}

void CacheStore::retain(const CacheName& name, const std::vector<std::int64_t>& of_requests, const std::vector<std::int64_t>& tokens) {
  const auto requests = rows_.find(name);
  if (requests == rows_.end()) return;
  std::unordered_map<std::int64_t, std::vector<bool>> kept;
  for (const std::int64_t request : of_requests) {
    const auto rows = requests->second.find(request);
    if (rows != requests->second.end()) kept[request].resize(rows->second.stored.size(), false);
  }
  for (const std::int64_t token : tokens) {
    const auto positions = kept.find(request_of(token));
    const auto at = static_cast<std::size_t>(position_of(token));
    if (positions == kept.end() || at >= positions->second.size()) continue;
    positions->second[at] = requests->second[request_of(token)].stored[at];
  }
  for (auto& [request, positions] : kept) requests->second[request].stored = std::move(positions);
}

std::map<CacheName, std::int64_t> CacheStore::elements() const {
  std::map<CacheName, std::int64_t> result;
  for (const auto& [name, requests] : rows_) {
    for (const auto& [request, rows] : requests) {
      result[name] += std::count(rows.stored.begin(), rows.stored.end(), true) * rows.width;
    }
  }
  return result;
}

}  // namespace shardplan
