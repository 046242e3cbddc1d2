// Units as people write them, and as they like to read them.
#include "base/units.h"

#include <limits>

#include "tests/base/message_of.h"
#include "tests/catch.h"

namespace shardplan {

TEST_CASE("k, M, G and T are powers of 1000; Ki, Mi, Gi and Ti of 1024") {
  CHECK(parse_bytes("141 GB", "f") == Bytes(141'000'000'000));
  CHECK(parse_bytes("80 GiB", "f") == Bytes(80 * kGiB));
  CHECK(parse_bytes("512 KiB", "f") == Bytes(512 * kKiB));
  CHECK(parse_bytes("1 kB", "f") == Bytes(1000));
  CHECK(parse_bytes("1.5TB", "f") == Bytes(1'500'000'000'000));
  CHECK(parse_bytes("1e3 B", "f") == Bytes(1000));
  CHECK(parse_bytes("0 B", "f") == Bytes(0));
}

TEST_CASE("Bits per second are an eighth of bytes per second") {
  CHECK(parse_bandwidth("400 Gb/s", "f").value() == Approx(50e9));
  CHECK(parse_bandwidth("4.8 TB/s", "f").value() == Approx(4.8e12));
  CHECK(parse_flops_rate("989 TFLOP/s", "f").value() == Approx(989e12));
  CHECK(parse_flops_rate("2 PFLOP/s", "f").value() == Approx(2e15));
}

TEST_CASE("Times are read from nanoseconds to seconds") {
  CHECK(parse_seconds("250 ns", "f").value() == Approx(250e-9));
  CHECK(parse_seconds("3 us", "f").value() == Approx(3e-6));
  CHECK(parse_seconds("1.5 ms", "f").value() == Approx(1.5e-3));
  CHECK(parse_seconds("2 s", "f").value() == Approx(2));
}

TEST_CASE("A missing or unknown unit is refused with an example") {
  CHECK(message_of([] { (void)parse_bytes("141", "p.json: /memory"); }) ==
        "p.json: /memory: \"141\" has no unit; expected for example \"141 GB\"");
  CHECK_THAT(message_of([] { (void)parse_bytes("141 gb", "f"); }), contains_text("has an unknown unit"));
  CHECK_THAT(message_of([] { (void)parse_bytes("4 GB/s", "f"); }), contains_text("has an unknown unit"));
  CHECK_THAT(message_of([] { (void)parse_bandwidth("4.8 TB", "f"); }), contains_text("4.8 TB/s"));
  CHECK_THAT(message_of([] { (void)parse_seconds("3", "f"); }), contains_text("expected ns, us, ms or s"));
  CHECK_THAT(message_of([] { (void)parse_seconds("3 min", "f"); }), contains_text("unknown unit"));
}

TEST_CASE("What is not a plain finite quantity is refused") {
  for (const char* text : {"", " ", "GB", "-1 GB", "nan GB", "inf GB", "1e999 GB", "0x10 GB", "0XaB", "--1 B"}) {
    INFO(text);
    CHECK_FALSE(message_of([&] { (void)parse_bytes(text, "f"); }).empty());
  }
}

TEST_CASE("Sizes and rates that overflow are refused") {
  CHECK_THAT(message_of([] { (void)parse_bytes("10000000 TB", "f"); }), contains_text("too large"));
  CHECK_THAT(message_of([] { (void)parse_bandwidth("1e300 PB/s", "f"); }), contains_text("too large"));
  CHECK(parse_bytes("9 PB", "f") == Bytes(9'000'000'000'000'000));
}

TEST_CASE("Bytes are written in binary units that say so") {
  CHECK(format_bytes(Bytes(0)) == "0 B");
  CHECK(format_bytes(Bytes(1023)) == "1023 B");
  CHECK(format_bytes(Bytes(512 * kKiB)) == "512.00 KiB");
  CHECK(format_bytes(Bytes(3 * kMiB / 2)) == "1.50 MiB");
  CHECK(format_bytes(Bytes(141'000'000'000)) == "131.32 GiB");
  CHECK(format_bytes(Bytes(-2 * kGiB)) == "-2.00 GiB");
}

TEST_CASE("Times are written with the unit that suits their size and sign") {
  CHECK(format_seconds(Seconds(111.9e-6)) == "111.90 us");
  CHECK(format_seconds(Seconds(12.3e-3)) == "12.30 ms");
  CHECK(format_seconds(Seconds(0.25)) == "250 ms");
  CHECK(format_seconds(Seconds(2.5)) == "2.50 s");
  CHECK(format_seconds(Seconds(3600)) == "3600 s");
  CHECK(format_seconds(Seconds(-2.5)) == "-2.50 s");
  CHECK(format_seconds(Seconds(std::numeric_limits<double>::infinity())) == "-");
}

TEST_CASE("Counts are written with commas between thousands") {
  CHECK(format_count(0) == "0");
  CHECK(format_count(999) == "999");
  CHECK(format_count(1048576) == "1,048,576");
  CHECK(format_count(-123) == "-123");
  CHECK(format_count(-1234) == "-1,234");
  CHECK(format_count(2.4e12) == "2.400e+12");
  CHECK(format_count(-std::numeric_limits<double>::quiet_NaN()) == "-");
}

}  // namespace shardplan
