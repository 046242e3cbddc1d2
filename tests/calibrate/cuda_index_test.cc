// Which element a thread of a kernel works on, and what a device says of its clock: the parts that need no device.
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

TEST_CASE("a decode is split to fill the device, but no finer than tiles") {
  CHECK(decode_splits(1, 100'000, 32, 132) == 264);  // two blocks for each multiprocessor
  CHECK(decode_splits(64, 100'000, 32, 132) == 5);
  CHECK(decode_splits(1000, 100'000, 32, 132) == 1);
  CHECK(decode_splits(1, 40, 32, 132) == 2);  // two tiles
  CHECK(decode_splits(0, 40, 32, 132) == 1);
  CHECK(decode_splits(8, 0, 32, 132) == 1);
}

TEST_CASE("keys of a tile fit into shared memory, at most one for each lane") {
  CHECK(tile_keys(128, 128, 48 * 1024) == 32);
  CHECK(tile_keys(576, 512, 48 * 1024) == 11);
  CHECK(tile_keys(576, 512, 48 * 1024) * (576 + 512) * 4 <= 48 * 1024);
  CHECK(tile_keys(100'000, 1, 48 * 1024) == 1);
}

TEST_CASE("each query head reads the KV head of its group") {
  for (std::int64_t head = 0; head < 8; ++head) {
    CHECK(kv_head_of(head, 8, 8) == head);
    CHECK(kv_head_of(head, 8, 2) == head / 4);
    CHECK(kv_head_of(head, 8, 1) == 0);
  }
}

TEST_CASE("a query sees keys of its own request, none after it, and none behind its window") {
  CHECK(sees(1, 5, 1, 5, true, 0));
  CHECK_FALSE(sees(1, 5, 1, 6, true, 0));
  CHECK(sees(1, 5, 1, 6, false, 0));
  CHECK_FALSE(sees(1, 5, 2, 3, true, 0));
  CHECK(sees(1, 5, 1, 3, true, 3));
  CHECK_FALSE(sees(1, 5, 1, 2, true, 3));
}

TEST_CASE("rows of experts are dealt evenly and padded to whole tiles") {
  for (const std::int64_t rows : {0, 1, 7, 8, 100}) {
    std::int64_t sum = 0;
    for (std::int64_t e = 0; e < 8; ++e) {
      sum += dealt_rows(rows, 8, e);
      CHECK(dealt_rows(rows, 8, e) >= dealt_rows(rows, 8, 7));  // those without any come last
    }
    CHECK(sum == rows);
  }
  CHECK(padded_rows(0, 16) == 0);
  CHECK(padded_rows(17, 16) == 32);
}

TEST_CASE("columns of a rotated pair are each other's partner") {
  for (std::int64_t column = 0; column < 64; ++column) {
    const std::int64_t partner = rotary_partner(column, 64);
    CHECK(rotary_partner(partner, 64) == column);
    CHECK(partner != column);
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
