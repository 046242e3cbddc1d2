#include "costmodel/page_pool.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/units.h"

namespace shardplan {
namespace {

std::int64_t layers_of(const CachedLayers& layers) {
  return std::accumulate(layers.of_stage.begin(), layers.of_stage.end(), std::int64_t{0});
}

std::int64_t group_size(const std::vector<CachedLayers>& layers) {
  std::int64_t fewest = layers_of(layers.front());
  std::int64_t most = fewest;
  for (const CachedLayers& kind : layers) {
    fewest = std::min(fewest, layers_of(kind));
    most = std::max(most, layers_of(kind));
  }
  return 2 * most < 3 * fewest ? most : fewest;
}

// Bytes of one layer's page: the largest block of any kind, long enough for every state.
double layer_page(const std::vector<CachedLayers>& layers, std::int64_t block) {
  double token = 0;
  double state = 0;
  for (const CachedLayers& kind : layers) {
    token = std::max(token, kind.bytes_per_token);
    state = std::max(state, kind.bytes_per_request);
  }
  const double step = token * static_cast<double>(block);
  return step > 0 ? step * std::max(1.0, std::ceil(state / step)) : state;
}

std::int64_t blocks_of(std::int64_t tokens, const PageGroup& kind, std::int64_t windowed) {
  if (kind.block_tokens == 0) return kind.states;
  if (kind.window == 0) return ceil_div(tokens, kind.block_tokens);
  return ceil_div(windowed, kind.block_tokens) + 1;
}

}  // namespace

std::int64_t PagePool::groups() const {
  std::int64_t sum = 0;
  for (const PageGroup& kind : kinds) sum += kind.groups;
  return sum;
}

std::int64_t PagePool::block_tokens() const {
  std::int64_t least = 0;
  for (const PageGroup& kind : kinds) {
    if (kind.block_tokens > 0) least = least == 0 ? kind.block_tokens : std::min(least, kind.block_tokens);
  }
  return std::max<std::int64_t>(1, least);
}

std::int64_t PagePool::pages_to_admit(std::int64_t tokens) const {
  std::int64_t sum = 0;
  for (const PageGroup& kind : kinds)
    sum += kind.groups * blocks_of(tokens, kind, std::min(tokens, kind.window - 1 + step_tokens));
  return sum;
}

std::int64_t PagePool::pages_to_run(std::int64_t tokens) const {
  std::int64_t sum = 0;
  for (const PageGroup& kind : kinds) {
    const std::int64_t all = kind.block_tokens > 0 ? ceil_div(tokens, kind.block_tokens) : kind.states;
    sum += kind.groups * std::min(all, blocks_of(tokens, kind, std::max<std::int64_t>(1, kind.window - 1)));
  }
  return sum;
}

bool PagePool::has_states() const {
  return std::any_of(kinds.begin(), kinds.end(), [](const PageGroup& kind) { return kind.block_tokens == 0; });
}

PagePool make_page_pool(const std::vector<CachedLayers>& layers, const std::vector<Bytes>& pools, std::int64_t block,
                        std::int64_t step_tokens) {
  PagePool pool{.step_tokens = step_tokens};
  if (layers.empty()) return pool;
  const std::int64_t size = group_size(layers);
  const double page = layer_page(layers, block);
  for (const CachedLayers& kind : layers) {
    PageGroup group{.groups = ceil_div(layers_of(kind), size), .window = kind.window, .states = kind.states};
    if (kind.bytes_per_request == 0) {
      const auto fill = static_cast<std::int64_t>(page / kind.bytes_per_token);
      group.block_tokens = std::max(block, fill / block * block);
    }
    pool.kinds.push_back(group);
  }
  double least = 1e18;
  for (std::size_t s = 0; s < pools.size(); ++s) {
    std::int64_t slots = 0;
    for (std::size_t k = 0; k < layers.size(); ++k)
      slots = std::max(slots, ceil_div(layers[k].of_stage[s], pool.kinds[k].groups));
    pool.page_bytes.push_back(page * static_cast<double>(slots));
    if (slots > 0) least = std::min(least, std::floor(static_cast<double>(pools[s].value()) / pool.page_bytes.back()));
  }
  pool.pages = static_cast<std::int64_t>(least);
  return pool;
}

}  // namespace shardplan
