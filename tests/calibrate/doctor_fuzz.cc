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
  evidence.log = read_nccl_log(text);
  evidence.sysfs = read_sysfs(text);
  try {
    evidence.topology = read_topology(text, "fuzz");
  } catch (const InputError&) {  // no GPU row
  }
  for (const Finding& finding : diagnose(evidence)) {
    if (finding.evidence.empty()) __builtin_trap();
  }
  return 0;
}
