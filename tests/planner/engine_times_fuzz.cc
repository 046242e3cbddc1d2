// Any bytes are engine times that can be looked up, added to the shipped ones, and written so that they read the same;
// or an InputError.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/errors.h"
#include "planner/engine_times.h"

namespace {

void look_up(const shardplan::EngineTimesTable& table) {
  const shardplan::EngineTimes times =
      table.resolve({"vllm", "0.12.0", "hopper", "H200-SXM5-141GB", "qwen3-235b-a22b", "fp8_block", "fp8_block"});
  if (!std::isfinite(times.host.per_step.value()) || !(times.decode_ratio > 0)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardplan;
  EngineTimesTable table;
  try {
    table = read_engine_times({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const InputError&) {  // the expected refusal
    return 0;
  }
  if (table.is_overlay) {
    look_up(with_overlay(shipped_engine_times(), table));
  } else {
    look_up(table);
    (void)read_engine_times(engine_times_text(table, "fuzz"), "written again");
  }
  return 0;
}
