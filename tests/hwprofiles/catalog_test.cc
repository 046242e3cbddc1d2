#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "base/errors.h"
#include "hwprofiles/embedded_catalog.h"
#include "hwprofiles/profile.h"
#include "profile_text.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("every machine of the catalog can be read under its own name, and all but AMD's are calibrated") {
  std::set<std::string> names;
  for (const HardwareEntry& entry : hardware_catalog()) {
    const HardwareProfile profile = load_hardware(entry.name);
    CHECK(profile.name == entry.name);
    CHECK(profile.title == entry.title);
    CHECK(profile.calibrated == (profile.device.vendor != "AMD"));
    CHECK(profile.collectives.empty() == (profile.device.vendor == "AMD"));
    names.insert(entry.name);
  }
  for (const char* name : {"a100-sxm-80gb", "b200-sxm", "gb200-nvl72", "h100-sxm", "h200-sxm", "l40s"}) {
    CHECK(names.contains(name));
  }
}

TEST_CASE("no name or alias stands for two machines, and names are lower case with dashes") {
  std::map<std::string, std::string> owners;
  const auto claim = [&](std::string_view name, std::string_view machine) {
    INFO(name);
    CHECK(owners.emplace(name, machine).second);
    CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos);
  };
  for (const EmbeddedProfile& profile : embedded_profiles()) {
    claim(profile.name, profile.name);
    std::istringstream aliases{std::string(profile.aliases)};
    for (std::string alias; aliases >> alias;) claim(alias, profile.name);
  }
}

TEST_CASE("aliases are found in any case, with underscores for dashes") {
  CHECK(load_hardware("h200").name == "h200-sxm");
  CHECK(load_hardware("H200-SXM-141GB").name == "h200-sxm");
  CHECK(load_hardware("h100_sxm").name == "h100-sxm");
  CHECK(load_hardware("GB200").name == "gb200-nvl72");
  CHECK(load_hardware("A100").name == "a100-sxm-80gb");
  CHECK(load_hardware("B200").name == "b200-sxm");
}

TEST_CASE("an unknown machine is refused with the nearest name") {
  CHECK_THROWS_WITH(load_hardware("h20O-sxm"), Contains("h200-sxm"));
  CHECK_THROWS_AS(load_hardware("no/such/file.json"), InputError);
}

TEST_CASE("the H200 has the figures that the worked examples use") {
  const HardwareProfile h200 = load_hardware("h200-sxm");
  CHECK(h200.device.memory_bandwidth.value() == Approx(4.8e12));
  CHECK(h200.device.peak[0].value() == Approx(989e12));
  CHECK(h200.node.scale_up.bandwidth.value() == Approx(450e9));
  CHECK(h200.device.memory.value() == 143771 * kMiB);
  CHECK(h200.sources.at("/device/memory_bandwidth") == "NVIDIA H200 datasheet");
}

TEST_CASE("formats a device lacks have no peak") {
  CHECK(load_hardware("a100").device.peak[1].value() == 0);  // no fp8 before Hopper
  CHECK(load_hardware("h100").device.peak[2].value() == 0);  // no fp4 before Blackwell
  CHECK(load_hardware("b200").device.peak[2].value() == Approx(9e15));
}

TEST_CASE("the NVL72 is one domain over eighteen trays, and the L40S host has no scale-up fabric") {
  const HardwareProfile rack = load_hardware("gb200");
  CHECK(rack.node.devices == 4);
  CHECK(rack.node.domain == 72);
  CHECK(rack.device.memory.value() == 189471 * kMiB);
  const HardwareProfile pcie = load_hardware("l40s");
  CHECK(pcie.node.scale_up.kind == "pcie");
  CHECK_FALSE(pcie.node.in_switch_reduction);
}

TEST_CASE("a machine by JSON alone is read completely") {
  const HardwareProfile machine = read_hardware(made_up_machine(), "machine.json");
  CHECK(machine.name == "abacus-1");
  CHECK(machine.device.memory.value() == 32 * kGiB);
  CHECK(machine.node.domain == 4);  // as many as devices unless given
  CHECK(machine.node.nic.bandwidth.value() == Approx(12.5e9));
  CHECK(machine.node.nic_direct);
  CHECK(machine.fabric.oversubscription == 2);
  CHECK(machine.price_per_hour == 0);
  CHECK(machine.sources.at("/kernels/gemm.bf16") == "invented");
}

TEST_CASE("a profile without kernels is not calibrated") {
  const std::string text =
      edited(made_up_machine(), R"("kernels": {"gemm.bf16")", R"("kernels": null, "note": {"gemm.bf16")");
  CHECK_FALSE(read_hardware(text, "machine.json").calibrated);
}

TEST_CASE("coefficients fall back from the exact row to the family, the default row and the built-in values") {
  HardwareProfile profile;
  CHECK(kernel_coefficients(profile, "gemm", "fp8").compute_efficiency == 0.7);
  profile.kernels["default"].compute_efficiency = 0.1;
  CHECK(kernel_coefficients(profile, "gemm", "fp8").compute_efficiency == 0.1);
  profile.kernels["gemm"].compute_efficiency = 0.2;
  CHECK(kernel_coefficients(profile, "gemm", "fp8").compute_efficiency == 0.2);
  profile.kernels["gemm.fp8"].compute_efficiency = 0.3;
  CHECK(kernel_coefficients(profile, "gemm", "fp8").compute_efficiency == 0.3);
  CHECK(kernel_coefficients(profile, "gemm", "bf16").compute_efficiency == 0.2);
}

TEST_CASE("collective coefficients fall back inside their scope") {
  HardwareProfile profile;
  profile.collectives["all_reduce"].efficiency = 0.4;
  profile.collectives["inter.all_reduce"].efficiency = 0.5;
  CHECK(collective_coefficients(profile, "all_gather").efficiency == 0.4);
  CHECK(collective_coefficients(profile, "inter.all_gather").efficiency == 0.5);
  CHECK(collective_coefficients(HardwareProfile{}, "all_gather").efficiency == 0.8);
}

}  // namespace
}  // namespace shardplan
