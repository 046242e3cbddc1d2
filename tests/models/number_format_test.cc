#include "models/number_format.h"

#include <rapidcheck.h>

#include "tests/base/message_of.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

Bytes stored(const char* format, std::int64_t rows, std::int64_t columns) {
  return require_format(format, "test").bytes(rows, columns);
}

TEST_CASE("A matrix of 7168 columns and 2048 rows takes what each format promises") {
  constexpr std::int64_t kElements = 2048 * 7168;
  CHECK(stored("bf16", 2048, 7168) == Bytes(2 * kElements));
  CHECK(stored("fp32", 2048, 7168) == Bytes(4 * kElements));
  CHECK(stored("fp8", 2048, 7168) == Bytes(kElements + 4));
  CHECK(stored("fp8_block", 2048, 7168) == Bytes(kElements + 16 * 56 * 4));
  CHECK(stored("fp8_channel", 2048, 7168) == Bytes(kElements + 2048 * 4));
  CHECK(stored("nvfp4", 2048, 7168) == Bytes(kElements / 2 + kElements / 16 + 4));
  CHECK(stored("mxfp4", 2048, 7168) == Bytes(kElements / 2 + kElements / 32));
  CHECK(stored("int4_g128", 2048, 7168) == Bytes(kElements / 2 + kElements / 128 * 2));
  CHECK(stored("int4_g32", 2048, 7168) == Bytes(kElements / 2 + kElements / 32 * 2));
}

TEST_CASE("Blocks that the matrix does not fill still have their scale") {
  // DeepSeek-V3's kv_a is [576, 7168]: 5 x 56 blocks of 128 x 128.
  CHECK(stored("fp8_block", 576, 7168) == Bytes(576 * 7168 + 5 * 56 * 4));
  CHECK(stored("nvfp4", 3, 17) == Bytes(26 + 3 * 2 + 4));
}

TEST_CASE("The spread-out cost per element leaves tensor scales aside") {
  CHECK(require_format("mxfp4", "test").bytes_per_element() == Approx(0.53125));
  CHECK(require_format("nvfp4", "test").bytes_per_element() == Approx(0.5625));
  CHECK(require_format("fp8_block", "test").bytes_per_element() == Approx(1 + 4.0 / 16384));
  CHECK(require_format("fp8", "test").bytes_per_element() == 1.0);
}

TEST_CASE("Formats whose activations stay bf16 multiply in bf16") {
  for (const NumberFormat& format : number_formats()) {
    INFO(format.name);
    CHECK(!format.help.empty());
    if (format.weight_only) CHECK(format.math == MathFormat::kBf16);
    CHECK(find_format(format.name) == &format);
  }
}

TEST_CASE("An unknown format is refused with the nearest name") {
  CHECK(find_format("nvfp5") == nullptr);
  CHECK_THAT(message_of([] { (void)require_format("nvfp5", "--weight-dtype"); }), contains_text("such as nvfp4"));
  CHECK_THAT(message_of([] { (void)require_kv_format("int4_g32", "--kv-dtype"); }),
             contains_text("no format of a cache"));
  CHECK(require_kv_format("fp8", "--kv-dtype").bits == 8);
}

TEST_CASE("Stored bytes never fall below the bits, and grow with the matrix") {
  const bool holds = rc::check([] {
    const auto& formats = number_formats();
    const NumberFormat& format = formats[*rc::gen::inRange<std::size_t>(0, formats.size())];
    const auto rows = *rc::gen::inRange<std::int64_t>(1, 5000);
    const auto columns = *rc::gen::inRange<std::int64_t>(1, 5000);
    const std::int64_t bytes = format.bytes(rows, columns).value();
    RC_ASSERT(bytes * 8 >= rows * columns * format.bits);
    RC_ASSERT(format.bytes(rows + 1, columns).value() >= bytes);
    RC_ASSERT(format.bytes(rows, columns + 1).value() >= bytes);
  });
  CHECK(holds);
}

}  // namespace
}  // namespace shardplan
