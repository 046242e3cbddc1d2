// Any text is either a finite, non-negative quantity or an InputError, under every parser.
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/errors.h"
#include "base/units.h"

namespace {

template <class Parse>
void check(Parse parse, std::string_view text) {
  try {
    const auto value = static_cast<double>(parse(text, "fuzz").value());
    if (!std::isfinite(value) || value < 0) __builtin_trap();
  } catch (const shardplan::InputError&) {  // the expected refusal
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(shardplan::parse_bytes, text);
  check(shardplan::parse_bandwidth, text);
  check(shardplan::parse_flops_rate, text);
  check(shardplan::parse_seconds, text);
  return 0;
}
