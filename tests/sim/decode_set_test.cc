#include "sim/decode_set.h"

#include <rapidcheck.h>

#include "tests/catch.h"

namespace shardplan {
namespace {

RequestSlot add(RequestTable& table, std::int64_t context, std::int64_t outputs_left) {
  static std::int64_t admission = 0;
  const RequestSlot slot = table.add();
  Request& request = table[slot];
  request.target = request.computed = context;
  request.outputs = 1;
  request.spec.output_tokens = 1 + outputs_left;
  request.admission = admission++;
  return slot;
}

TEST_CASE("A run of steps needs the blocks that single steps need") {
  CHECK(rc::check([] {
    const auto block = *rc::gen::inRange<std::int64_t>(1, 9);
    RequestTable table;
    DecodeSet set(block, true);
    std::vector<RequestSlot> slots;
    const int members = *rc::gen::inRange(1, 8);
    for (int i = 0; i < members; ++i) {
      slots.push_back(add(table, *rc::gen::inRange<std::int64_t>(1, 40), 1000));
      set.join(table, slots.back());
      set.advance(*rc::gen::inRange<std::int64_t>(0, 5));
    }
    const auto held = [&](std::int64_t ahead) {
      std::int64_t blocks = 0, context = 0;
      for (const RequestSlot slot : slots) {
        blocks += (set.context(table[slot]) + ahead + block - 1) / block;
        context += set.context(table[slot]);
      }
      RC_ASSERT(context == set.context_sum());
      return blocks;
    };
    const auto k = *rc::gen::inRange<std::int64_t>(0, 50);
    RC_ASSERT(set.blocks_for(k) == held(k) - held(0));
    const auto available = *rc::gen::inRange<std::int64_t>(0, 60);
    const std::int64_t within = set.steps_within(available, 100);
    RC_ASSERT(set.blocks_for(within) <= available);
    RC_ASSERT(within == 100 || set.blocks_for(within + 1) > available);
  }));
}

TEST_CASE("Members end in the order of their ends, and one that left does not") {
  RequestTable table;
  DecodeSet set(16, true);
  const RequestSlot a = add(table, 10, 3);
  const RequestSlot b = add(table, 20, 2);
  const RequestSlot c = add(table, 30, 2);
  for (const RequestSlot slot : {a, b, c}) set.join(table, slot);
  CHECK(set.steps_to_end(table) == 2);
  set.leave(table, b);
  set.advance(2);
  CHECK(set.ended(table) == c);
  set.leave(table, c);
  CHECK(table[c].outputs == 3);
  CHECK(table[c].holding.blocks == 2);
  CHECK(set.ended(table) == kNoRequest);
  CHECK(set.steps_to_end(table) == 1);
  CHECK(set.context_sum() == 12);
}

}  // namespace
}  // namespace shardplan
