#include "base/file.h"
#include "hwprofiles/profile.h"
#include "profile_text.h"
#include "tests/base/message_of.h"
#include "tests/base/scratch_folder.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

TEST_CASE("a machine may be described by what differs from one in the catalog") {
  const HardwareProfile base = load_hardware("h200");
  const HardwareProfile machine = read_hardware(R"({
    "extends": "h200", "name": "h200-slow-network",
    "node": {"nic": {"bandwidth": {"value": "100 Gb/s", "source": "our racks"}}}
  })",
                                                "machine.json");
  CHECK(machine.name == "h200-slow-network");
  CHECK(machine.title == "h200-slow-network");  // a title is not inherited
  CHECK(machine.node.nic.bandwidth.value() == Approx(12.5e9));
  CHECK(machine.node.nic.latency == base.node.nic.latency);
  CHECK(machine.device.memory == base.device.memory);
  CHECK(machine.kernels.size() == base.kernels.size());
}

TEST_CASE("an overridden number brings its own source") {
  const std::string without_source =
      R"({"extends": "h200", "name": "x", "device": {"memory_bandwidth": {"value": "5 TB/s"}}})";
  // Laid over without a source it would keep the vendor's for a number that is not the vendor's.
  CHECK_THAT(error_of(without_source), Contains("/device/memory_bandwidth"));
  const HardwareProfile machine = read_hardware(
      R"({"extends": "h200", "name": "x", "device": {"memory_bandwidth": {"value": "5 TB/s", "source": "overclocked"}}})",
      "machine.json");
  CHECK(machine.sources.at("/device/memory_bandwidth") == "overclocked");
}

TEST_CASE("rows of coefficients taken from another machine say so, and name the one they were made for") {
  const HardwareProfile machine = read_hardware(R"({
    "extends": "gb200", "name": "x",
    "kernels": {"default": {"fixed": "1 us", "compute_efficiency": 0.5, "memory_efficiency": 0.5, "source": "ours"}}
  })",
                                                "machine.json");
  CHECK(machine.sources.at("/kernels/default") == "ours");
  CHECK_THAT(machine.sources.at("/kernels/gemm.bf16"), StartsWith("taken from b200-sxm: fitted"));
  CHECK_THAT(machine.sources.at("/collectives/all_reduce"), StartsWith("taken from gb200-nvl72: fitted"));
  CHECK_THAT(load_hardware("b200").sources.at("/kernels/gemm.bf16"), StartsWith("fitted"));
}

TEST_CASE("a machine may be put in another network") {
  const ScratchFolder folder;
  write_file_atomically(folder.path("network.json"),
                        R"({"fabric": {"source": "ours", "nodes_per_leaf": 2, "oversubscription": 4,
    "leaf_latency": "1 us", "spine_latency": "2 us", "rail_optimised": false}})");
  const HardwareProfile base = load_hardware("h200");
  const HardwareProfile machine = load_hardware("h200", folder.path("network.json"));
  CHECK(machine.name == base.name);
  CHECK(machine.fabric.oversubscription == 4);
  CHECK_FALSE(machine.fabric.rail_optimised);
  CHECK(machine.node.nic.bandwidth == base.node.nic.bandwidth);
}

TEST_CASE("a network that says nothing, or more than a network, is refused") {
  const ScratchFolder folder;
  const std::string file = folder.path("network.json");
  const auto refusal = [&file](const char* text) {
    write_file_atomically(file, text);
    return message_of([&file] { (void)load_hardware("h200", file); });
  };
  CHECK_THAT(refusal("{}"), Contains("describes no network"));
  CHECK_THAT(refusal(R"({"device": {}})"), Contains("/device"));
  CHECK_THAT(refusal(R"({"fabric": {"source": "ours", "nodes_per_leaf": 0}})"), Contains("nodes_per_leaf"));
}

TEST_CASE("null takes a row away") {
  const HardwareProfile machine = read_hardware(R"({"extends": "h200", "name": "x", "kernels": null})", "machine.json");
  CHECK_FALSE(machine.calibrated);
}

TEST_CASE("extending an unknown machine is refused with the nearest name") {
  CHECK_THAT(error_of(R"({"extends": "h201-sxm", "name": "x"})"), Contains("/extends") && Contains("h200-sxm"));
}

TEST_CASE("an extended machine still needs its own name and refuses unknown keys") {
  CHECK_THAT(error_of(R"({"extends": "h200"})"), Contains("/name"));
  CHECK_THAT(error_of(R"({"extends": "h200", "name": "x", "devise": {}})"), Contains("/devise") && Contains("device"));
}

}  // namespace
}  // namespace shardplan
