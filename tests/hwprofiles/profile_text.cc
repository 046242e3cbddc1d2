#include "profile_text.h"

#include "base/errors.h"
#include "hwprofiles/profile.h"
#include "tests/catch.h"

namespace shardplan {

std::string made_up_machine() {
  return R"({
    "schema": "hardware-1", "name": "abacus-1", "title": "Abacus One",
    "device": {
      "name": "abacus", "vendor": "nobody", "architecture": "beads",
      "sm_count": {"value": 10, "source": "invented"},
      "memory": {"value": "32 GiB", "source": "invented"},
      "memory_bandwidth": {"value": "1 TB/s", "source": "invented", "note": "a note is allowed"},
      "power_watts": {"value": 100, "source": "invented"},
      "peak": {"bf16": {"value": "100 TFLOP/s", "source": "invented"}}
    },
    "node": {
      "devices": {"value": 4, "source": "invented"},
      "scale_up": {"kind": "beadlink", "bandwidth": {"value": "100 GB/s", "source": "invented"},
                   "latency": {"value": "1 us", "source": "invented"}},
      "pcie": {"bandwidth": {"value": "32 GB/s", "source": "invented"}, "latency": {"value": "0.5 us", "source": "invented"}},
      "nics": {"value": 4, "source": "invented"},
      "nic": {"bandwidth": {"value": "100 Gb/s", "source": "invented"}, "latency": {"value": "2 us", "source": "invented"}}
    },
    "fabric": {"source": "invented", "nodes_per_leaf": 2, "oversubscription": 2, "leaf_latency": "0.25 us", "spine_latency": "0.75 us"},
    "kernels": {"gemm.bf16": {"fixed": "3 us", "compute_efficiency": 0.5, "memory_efficiency": 0.75, "source": "invented"}},
    "collectives": {"all_reduce": {"base": "4 us", "per_rank": "1 us", "efficiency": 0.5, "half": "1 MB", "ramp": 0.5, "source": "invented"}}
  })";
}

std::string edited(std::string text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text) {
  try {
    (void)read_hardware(text, "machine.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace shardplan
