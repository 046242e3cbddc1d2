// Which element a thread of a kernel works on, and what a device says of its clock: the parts that need no device.
#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <utility>
#include <vector>

#include "calibrate/cuda/clocks.h"
#include "calibrate/cuda/index_logic.h"
#include "tests/catch.h"

namespace shardplan::cuda {
namespace {

TEST_CASE("parts of a split cover all keys once, in whole tiles but for the last") {
  for (const std::int64_t count : {0, 1, 31, 32, 33, 100, 1000, 4097}) {
    for (const std::int64_t splits : {1, 2, 3, 7, 64}) {
      std::int64_t next = 0;
      for (std::int64_t split = 0; split < splits; ++split) {
        const Range range = split_range(count, splits, split, 32);
        CHECK(range.first == next);
        CHECK(range.end >= range.first);
        CHECK((range.end == count || range.end % 32 == 0));
        next = range.end;
      }
      CHECK(next == count);
    }
  }
}

TEST_CASE("a decode is split into the fewest parts that give each multiprocessor two blocks, but no finer than tiles") {
  constexpr std::int64_t kTile = 32;
  for (const std::int64_t multiprocessors : {1, 108, 132, 148}) {
    for (const std::int64_t rows : {0, 1, 8, 64, 263, 264, 265, 1000}) {
      for (const std::int64_t keys : {0, 1, 32, 33, 40, 1000, 100'000}) {
        const std::int64_t tiles = (keys + kTile - 1) / kTile;
        const std::int64_t splits = decode_splits(rows, keys, kTile, multiprocessors);
        INFO(rows << " rows, " << keys << " keys, " << multiprocessors << " multiprocessors: " << splits);
        CHECK(splits >= 1);
        CHECK(splits <= std::max<std::int64_t>(tiles, 1));
        if (splits < tiles && rows > 0) CHECK(rows * splits >= 2 * multiprocessors);
        if (splits > 1) CHECK(rows * (splits - 1) < 2 * multiprocessors);
      }
    }
  }
}

TEST_CASE("keys of a tile are the most that fit into shared memory, at most one for each lane") {
  for (const std::int64_t shared : {16 * 1024, 48 * 1024, 227 * 1024}) {
    for (const auto& [qk_dim, v_dim] :
         {std::pair<std::int64_t, std::int64_t>{64, 64}, {128, 128}, {192, 128}, {576, 512}, {100'000, 1}}) {
      const auto bytes = [&, qk = qk_dim, v = v_dim](std::int64_t keys) {
        return keys * (qk + v) * static_cast<std::int64_t>(sizeof(float));
      };
      const std::int64_t keys = tile_keys(qk_dim, v_dim, shared);
      INFO(qk_dim << " + " << v_dim << " in " << shared << ": " << keys);
      CHECK((keys >= 1 && keys <= 32));
      if (keys > 1) CHECK(bytes(keys) <= shared);
      if (keys < 32) CHECK(bytes(keys + 1) > shared);
    }
  }
}

TEST_CASE("each KV head is read by as many query heads, one behind the other") {
  for (const std::int64_t kv_heads : {1, 2, 4, 8}) {
    std::int64_t last = 0;
    std::vector<std::int64_t> readers(static_cast<std::size_t>(kv_heads), 0);
    for (std::int64_t head = 0; head < 8; ++head) {
      const std::int64_t kv = kv_head_of(head, 8, kv_heads);
      CHECK(kv >= last);
      REQUIRE(kv < kv_heads);
      ++readers[static_cast<std::size_t>(kv)];
      last = kv;
    }
    CHECK(readers == std::vector<std::int64_t>(static_cast<std::size_t>(kv_heads), 8 / kv_heads));
  }
}

TEST_CASE("a query sees keys of its own request, none after it, and none behind its window") {
  constexpr std::int64_t kKeys = 20;
  for (const std::int64_t window : {0, 1, 3, 50}) {
    for (std::int64_t query = 0; query < kKeys; ++query) {
      std::vector<std::int64_t> seen;
      for (std::int64_t key = 0; key < kKeys; ++key) {
        if (sees(1, query, 1, key, true, window)) seen.push_back(key);
        CHECK_FALSE(sees(1, query, 2, key, true, window));
        CHECK(sees(1, query, 1, key, false, window) == (key > query || sees(1, query, 1, key, true, window)));
      }
      REQUIRE(std::ssize(seen) == (window == 0 ? query + 1 : std::min(window, query + 1)));
      CHECK(seen.back() == query);
      CHECK(seen.front() == query + 1 - std::ssize(seen));  // the last ones, without a gap
    }
  }
}

TEST_CASE("warps of attention's blocks take each row of each head once, heads of a group from one KV head") {
  constexpr std::int64_t kWarps = 4;
  for (const auto& [tokens, heads, kv_heads] : {std::tuple<std::int64_t, std::int64_t, std::int64_t>{1, 8, 1}, {3, 8, 2}, {7, 6, 2}, {5, 4, 4}}) {
    const std::int64_t group = heads / kv_heads;
    std::vector<int> taken(static_cast<std::size_t>(tokens * heads), 0);
    for (std::int64_t y = 0; y < heads / group; ++y) {
      for (std::int64_t x = 0; x < (tokens * group + kWarps - 1) / kWarps; ++x) {
        for (std::int64_t warp = 0; warp < kWarps; ++warp) {
          const AttentionRow row = attention_row(x, warp, kWarps, group, y);
          CHECK(kv_head_of(row.head, heads, kv_heads) == y);
          CHECK(row.token >= attention_row(x, 0, kWarps, group, 0).token);
          CHECK(row.token <= attention_row(x, kWarps - 1, kWarps, group, 0).token);
          if (row.token < tokens) ++taken[static_cast<std::size_t>(row.token * heads + row.head)];
        }
      }
    }
    CHECK(taken == std::vector<int>(taken.size(), 1));
  }
  for (std::int64_t z = 0; z < 12; ++z) CHECK(attention_block(z, 4).request * 4 + attention_block(z, 4).split == z);
}

TEST_CASE("keys that a block leaves out are seen by none of its queries") {
  constexpr std::int64_t kKeys = 20;
  for (const bool causal : {true, false}) {
    for (const std::int64_t window : {0, 1, 4, 30}) {
      for (std::int64_t first = 0; first < kKeys; ++first) {
        const std::int64_t last = std::min(first + 3, kKeys - 1);
        const Range visible = visible_keys(first, last, kKeys, causal, window);
        CHECK((0 <= visible.first && visible.first <= visible.end && visible.end <= kKeys));
        for (std::int64_t key = 0; key < kKeys; ++key) {
          bool seen = false;
          for (std::int64_t query = first; query <= last; ++query) seen = seen || sees(0, query, 0, key, causal, window);
          if (key < visible.first || key >= visible.end) CHECK_FALSE(seen);
          else if (causal) CHECK(seen);
        }
      }
    }
  }
}

TEST_CASE("short work is captured often enough to outlast its launch, long work once") {
  CHECK(rounds_of_graph(0) == 100);
  CHECK(rounds_of_graph(1e-6) == 100);
  for (const double us : {5.0, 20.0, 299.0}) CHECK(rounds_of_graph(us * 1e-6) * us >= 300);
  CHECK(rounds_of_graph(1.0) == 1);
}

TEST_CASE("matrices of grouped products begin behind those of experts before, with rows or without") {
  const std::vector<std::int64_t> rows{2, 0, 3, 1};
  CHECK(group_offsets(rows, 10, false) == std::vector<std::int64_t>{0, 20, 50});
  CHECK(group_offsets(rows, 10, true) == std::vector<std::int64_t>{0, 20, 30});
}

TEST_CASE("matrices at some distance are aligned as far as all distances are") {
  CHECK(common_alignment({256, 512}) == 256);
  CHECK(common_alignment({7168, 48}) == 16);
  CHECK(common_alignment({3}) == 1);
}

TEST_CASE("columns of a rotated pair are each other's partner, half a head apart") {
  for (const std::int64_t columns : {2, 6, 64}) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::int64_t partner = rotary_partner(column, columns);
      CHECK(rotary_partner(partner, columns) == column);
      CHECK(std::abs(partner - column) == columns / 2);
    }
  }
}

TEST_CASE("what holds a clock back is named, idling is not") {
  CHECK(reasons_text(0).empty());
  CHECK(reasons_text(0x1).empty());  // idle
  CHECK(reasons_text(0x2).empty());  // clocks that a user set
  CHECK(reasons_text(0x4) == "power cap");
  CHECK(reasons_text(0x4 | 0x40) == "power cap, hardware thermal slowdown");
}

}  // namespace
}  // namespace shardplan::cuda
