#include "sim/block_pool.h"

#include <rapidcheck.h>

#include <array>

#include "tests/base/message_of.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

using Hashes = std::vector<std::uint64_t>;

TEST_CASE("Blocks are taken, named, found again and evicted, the last of a prefix first") {
  BlockPool pool(4, 16);
  REQUIRE(pool.take(3));
  pool.publish(10, 1);
  pool.publish(11, 1);
  pool.publish(12, 1);
  CHECK(pool.used() == 3);
  pool.unpin(Hashes{10, 11, 12});
  CHECK(pool.used() == 0);
  CHECK(pool.match(Hashes{10, 11, 12, 13}) == 3);
  REQUIRE(pool.take(2));                             // one blank, one evicted: 12
  CHECK(pool.match(Hashes{10, 11, 12}) == 2);
  CHECK(pool.evictions() == 1);
  CHECK(pool.cost_of_pinning(Hashes{10, 11}) == 2);
  pool.pin(Hashes{10, 11});
  CHECK(pool.available() == 0);
  CHECK_FALSE(pool.take(1));
  pool.check();
}

TEST_CASE("A block that was computed twice is kept once") {
  BlockPool pool(4, 16);
  REQUIRE(pool.take(2));
  pool.publish(5, 1);
  pool.publish(5, 1);
  CHECK(pool.used() == 1);
  pool.unpin(Hashes{5});
  CHECK(pool.used() == 1);
  pool.unpin(Hashes{5});
  CHECK(pool.used() == 0);
  CHECK_THROWS_AS(pool.unpin(Hashes{5}), InternalError);
}

TEST_CASE("The least recently used prefix goes first") {
  BlockPool pool(3, 16);
  for (const std::uint64_t hash : {1, 2, 3}) {
    REQUIRE(pool.take(1));
    pool.publish(hash, 1);
    pool.unpin(Hashes{hash});
  }
  pool.pin(Hashes{1});
  pool.unpin(Hashes{1});
  REQUIRE(pool.take(1));
  CHECK(pool.match(Hashes{2}) == 0);
  CHECK(pool.match(Hashes{1}) == 1);
}

TEST_CASE("No block is lost or freed twice, whatever requests do") {
  CHECK(rc::check([] {
    struct User { std::int64_t blocks = 0; Hashes pinned; std::uint64_t family = 0; };
    BlockPool pool(*rc::gen::inRange<std::int64_t>(1, 30), 16);
    std::vector<User> users;
    const int actions = *rc::gen::inRange(0, 80);
    for (int i = 0; i < actions; ++i) {
      const int what = *rc::gen::inRange(0, 4);
      if (what == 0) {                                   // a request comes, and reuses what it can
        User user{.family = *rc::gen::inRange<std::uint64_t>(0, 3)};
        Hashes all;
        for (std::uint64_t k = 0; k < 6; ++k) all.push_back(user.family * 100 + k);
        all.resize(static_cast<std::size_t>(pool.match(all)));
        pool.pin(all);
        user.pinned = all;
        users.push_back(user);
      } else if (!users.empty()) {
        User& user = users[*rc::gen::inRange<std::size_t>(0, users.size())];
        if (what == 1 && pool.take(2)) user.blocks += 2;
        if (what == 2 && user.blocks > 0) {
          user.pinned.push_back(user.family * 100 + user.pinned.size());
          pool.publish(user.pinned.back(), 1);
          --user.blocks;
        }
        if (what == 3) {
          pool.give(user.blocks);
          pool.unpin(user.pinned);
          user = users.back();
          users.pop_back();
        }
      }
      pool.check();
      std::int64_t held = 0;
      for (const User& user : users) held += user.blocks;
      RC_ASSERT(pool.used() >= held);
    }
    for (const User& user : users) {
      pool.give(user.blocks);
      pool.unpin(user.pinned);
    }
    RC_ASSERT(pool.used() == 0);
    pool.check();
  }));
}

TEST_CASE("A pool without blocks is refused") {
  CHECK_THAT(message_of([] { BlockPool pool(0, 16); }), contains_text("KV cache"));
}

}  // namespace
}  // namespace shardplan
