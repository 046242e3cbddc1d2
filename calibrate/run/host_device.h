// What this host is, as far as a record needs to know.
#pragma once

#include "calibrate/records/record.h"

namespace shardplan {

// Backend "host": processor name, cores, last-level cache and memory from /proc and /sys; compiler and Eigen as libraries.
[[nodiscard]] RecordHeader host_header();
// What the fastest core runs at now, from cpufreq or /proc/cpuinfo; 0 where neither says.
[[nodiscard]] double host_clock_mhz();

}  // namespace shardplan
