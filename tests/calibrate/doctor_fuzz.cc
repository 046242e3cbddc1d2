// Any bytes, read as the output of nvidia-smi topo -m, as a log of NCCL and as a dump of sysfs, can be diagnosed.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/errors.h"
#include "calibrate/doctor/diagnose.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardplan;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Evidence evidence;
  const auto try_to = [](auto read) {
    try {
      read();
    } catch (const InputError&) {  // nothing of the kind in it
    }
  };
  try_to([&] { evidence.log = read_nccl_log(text, "fuzz"); });
  try_to([&] { evidence.sysfs = read_sysfs(text, "fuzz"); });
  try_to([&] { evidence.topology = read_topology(text, "fuzz"); });
  for (const Finding& finding : diagnose(evidence)) {
    if (finding.evidence.empty()) __builtin_trap();
  }
  return 0;
}
