// What a device runs at, from NVML: its clock, and why it is held back. The library comes with the driver and is looked
// for when it is asked; without it nothing is told.
#pragma once

#include <cstdint>
#include <string>

namespace shardplan::cuda {

struct DeviceClock {
  double sm_mhz = 0;      // 0: not told
  std::string held_back;  // "power cap, thermal slowdown"; empty: by nothing
};

// Of the CUDA device, as this process counts them.
[[nodiscard]] DeviceClock device_clock(int device);

// Names of the reasons that NVML gives as bits; idle and what users set are none.
[[nodiscard]] inline std::string reasons_text(std::uint64_t bits) {
  struct Reason {
    std::uint64_t bit;
    const char* name;
  };
  constexpr Reason kReasons[] = {{0x4, "power cap"},
                                 {0x8, "hardware slowdown"},
                                 {0x20, "thermal slowdown"},
                                 {0x40, "hardware thermal slowdown"},
                                 {0x80, "power brake"}};
  std::string text;
  for (const Reason& reason : kReasons) {
    if ((bits & reason.bit) == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(reason.name);
  }
  return text;
}

}  // namespace shardplan::cuda
