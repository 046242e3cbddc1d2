// Reading quantities with their units, and writing them for people.
//
// k/M/G/T are powers of 1000, Ki/Mi/Gi/Ti of 1024. A missing or unknown unit is an InputError.
#pragma once

#include <string>
#include <string_view>

#include "base/quantity.h"

namespace shardplan {

[[nodiscard]] Bytes parse_bytes(std::string_view text, const std::string& where);                    // "141 GB", "80 GiB"
[[nodiscard]] BytesPerSecond parse_bandwidth(std::string_view text, const std::string& where);       // "4.8 TB/s", "400 Gb/s"
[[nodiscard]] FlopsPerSecond parse_flops_rate(std::string_view text, const std::string& where);      // "989 TFLOP/s"
[[nodiscard]] Seconds parse_seconds(std::string_view text, const std::string& where);                // "3 us", "1.5 ms"

[[nodiscard]] std::string format_bytes(Bytes bytes);      // "63.40 GiB", "512.00 KiB"
[[nodiscard]] std::string format_seconds(Seconds time);   // "111.90 us", "12.30 ms"; "-" unless finite
[[nodiscard]] std::string format_count(double count);     // "1,048,576"; "2.400e+12" from 1e12

}  // namespace shardplan
