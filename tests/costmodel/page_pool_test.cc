#include "costmodel/page_pool.h"

#include <rapidcheck.h>

#include "tests/catch.h"
#include "tests/costmodel/any_config.h"

namespace shardplan {
namespace {

CachedLayers full(std::int64_t layers, double bytes = 4096) {
  return {.window = 0, .bytes_per_token = bytes, .bytes_per_request = 0, .of_stage = {layers}};
}
CachedLayers sliding(std::int64_t layers, std::int64_t window, double bytes = 4096) {
  return {.window = window, .bytes_per_token = bytes, .bytes_per_request = 0, .of_stage = {layers}};
}
CachedLayers state(std::int64_t layers, double bytes) {
  return {.window = 0, .bytes_per_token = 0, .bytes_per_request = bytes, .of_stage = {layers}};
}

PagePool pool_of(const std::vector<CachedLayers>& layers, std::int64_t bytes) {
  return make_page_pool(layers, {Bytes(bytes)}, 16, 8192);
}

TEST_CASE("Groups are as large as the rarest kind, or as the most frequent where that is close") {
  CHECK(pool_of({full(8), sliding(40, 1024)}, 1 << 30).groups() == 6);
  CHECK(pool_of({full(10), sliding(52, 1024)}, 1 << 30).groups() == 7);  // 52 are padded to 60
  CHECK(pool_of({full(12), sliding(12, 128)}, 1 << 30).groups() == 2);
  const PagePool close = pool_of({full(10), sliding(14, 128)}, 1 << 30);  // 14 < 1.5 * 10
  CHECK(close.groups() == 2);
  CHECK(close.page_bytes.front() == 14 * 16 * 4096);
}

TEST_CASE("Pages of a request: whole blocks, a window with one step's tokens to admit it, the window alone to run") {
  const PagePool pool = pool_of({full(8), sliding(40, 1024)}, std::int64_t{1} << 36);
  CHECK(pool.pages_to_admit(8192) == 512 + 5 * 513);
  CHECK(pool.pages_to_admit(131072) == 8192 + 5 * 577);  // (1023 + 8192) / 16, and one
  CHECK(pool.pages_to_run(131072) == 8192 + 5 * 65);
  CHECK(pool.pages_to_run(16) == 6);
}

TEST_CASE("Layers with smaller tokens take longer blocks, so that pages are of one size") {
  const PagePool pool = pool_of({full(10, 8192), sliding(50, 1024, 16384)}, std::int64_t{1} << 36);
  CHECK(pool.kinds[0].block_tokens == 32);
  CHECK(pool.kinds[1].block_tokens == 16);
  CHECK(pool.block_tokens() == 16);
  CHECK(pool.page_bytes.front() == 10 * 16 * 16384);
}

TEST_CASE("Beside recurrent layers blocks are no smaller than a state, and each request has a page of each group") {
  const PagePool pool = pool_of({full(16, 4096), state(48, 3'000'000)}, std::int64_t{1} << 36);
  CHECK(pool.has_states());
  CHECK(pool.groups() == 4);
  CHECK(pool.block_tokens() == 736);  // 3,000,000 / 4,096 in steps of 16
  CHECK(pool.pages_to_admit(7360) == 10 + 3);
}

TEST_CASE("Pages of all stages fit their pools, and one more would not on some stage") {
  CHECK(rc::check([] {
    const std::int64_t stages = any_of(1, 4);
    std::vector<CachedLayers> layers = {full(0, 512), sliding(0, any_of(1, 4096), 256)};
    for (CachedLayers& kind : layers) {
      kind.of_stage.clear();
      for (std::int64_t s = 0; s < stages; ++s) kind.of_stage.push_back(any_of(1, 20));
    }
    std::vector<Bytes> pools;
    for (std::int64_t s = 0; s < stages; ++s) pools.push_back(Bytes(any_of(0, 1000) * 100'000));
    const PagePool pool = make_page_pool(layers, pools, 16, 2048);
    bool tight = false;
    for (std::size_t s = 0; s < pools.size(); ++s) {
      RC_ASSERT(static_cast<double>(pool.pages) * pool.page_bytes[s] <= static_cast<double>(pools[s].value()));
      tight = tight || static_cast<double>(pool.pages + 1) * pool.page_bytes[s] > static_cast<double>(pools[s].value());
    }
    RC_ASSERT(tight);
    const std::int64_t tokens = any_of(1, 100'000);
    RC_ASSERT(pool.pages_to_run(tokens) <= pool.pages_to_admit(tokens));
    RC_ASSERT(pool.pages_to_admit(tokens) <= pool.pages_to_admit(tokens + 1));
  }));
}

}  // namespace
}  // namespace shardplan
