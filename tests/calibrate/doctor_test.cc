// What the doctor sees in made-up evidence, and what it refuses to call evidence.
#include "calibrate/doctor/diagnose.h"

#include <algorithm>

#include "base/errors.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

bool finds(const Evidence& evidence, const std::string& rule) {
  const auto findings = diagnose(evidence);
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.rule == rule; });
}

constexpr const char* kAdapter = "/sys/class/infiniband/mlx5_0/device/numa_node:0\n";

TEST_CASE("adapters without the module for GPUDirect are a problem, a module that ls names is there") {
  Evidence evidence;
  evidence.sysfs = read_sysfs(kAdapter, "made");
  CHECK(finds(evidence, "peer_memory_missing"));
  evidence.sysfs = read_sysfs(std::string(kAdapter) + "/sys/module/nvidia_peermem\n", "made");   // what ls -d prints
  CHECK_FALSE(finds(evidence, "peer_memory_missing"));
  CHECK(evidence.sysfs->values.at("/sys/class/infiniband/mlx5_0/device/numa_node") == "0");
  CHECK(read_sysfs("/sys/bus/pci/devices/0000:1b:00.0/numa_node:1", "made").values.at("/sys/bus/pci/devices/0000:1b:00.0/numa_node") == "1");
}

TEST_CASE("a log says how ranks reach one another") {
  Evidence evidence;
  evidence.log = read_nccl_log(
      "a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0\n"
      "b:1:1 [0] NCCL INFO NET/IB : No device found.\n"
      "a:1:1 [0] NCCL INFO NCCL_ALGO set by environment to Ring.\n",
      "made");
  CHECK(evidence.log->hosts.size() == 2);
  CHECK(evidence.log->transports.at("NET/Socket") == 1);
  CHECK(evidence.log->variables.at("NCCL_ALGO") == "Ring");
  CHECK(finds(evidence, "socket_fall_back"));
}

TEST_CASE("a file of another kind is no evidence") {
  CHECK_THROWS_AS(read_nccl_log("", "made"), InputError);
  CHECK_THROWS_AS(read_nccl_log("all is well\n", "made"), InputError);
  CHECK_THROWS_AS(read_sysfs("garbage\n", "made"), InputError);
  CHECK_THROWS_AS(read_topology("garbage\n", "made"), InputError);
}

}  // namespace
}  // namespace shardplan
