#include "calibrate/run/host_device.h"

#include <unistd.h>

#include <Eigen/Core>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>


namespace shardplan {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

// "32768K" of the highest cache there is.
double last_level_cache() {
  double bytes = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    double kib = 0;
    if (file >> kib) bytes = std::max(bytes, kib * 1024);
  }
  return bytes > 0 ? bytes : 32e6;
}

// The first word of a file; "" where there is none.
std::string word_in(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

}  // namespace

double host_clock_mhz() {
  double fastest = 0;
  for (unsigned cpu = 0; cpu < std::thread::hardware_concurrency(); ++cpu) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/scaling_cur_freq");
    double kilohertz = 0;
    if (file >> kilohertz) fastest = std::max(fastest, kilohertz * 1e-3);
  }
  if (fastest > 0) return fastest;
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("cpu MHz") && colon != std::string::npos) fastest = std::max(fastest, std::strtod(line.c_str() + colon + 2, nullptr));
  }
  return fastest;
}

RecordHeader host_header() {
  RecordHeader header{.backend = "host", .device = processor_name(), .cores = static_cast<std::int64_t>(std::thread::hardware_concurrency())};
  header.last_level_cache_bytes = last_level_cache();
  header.memory_bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  const std::string governor = word_in("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (!governor.empty()) header.libraries["cpufreq governor"] = governor;
  header.libraries["compiler"] = __VERSION__;
  header.libraries["Eigen"] = std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." + std::to_string(EIGEN_MINOR_VERSION);
  return header;
}

}  // namespace shardplan
