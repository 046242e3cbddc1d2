#include "tools/tables/hardware_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/table.h"
#include "base/units.h"
#include "tools/tables/numbers.h"
#include "tools/tables/wrap.h"

namespace shardplan {
namespace {

using Align = Table::Align;
constexpr std::array<const char*, kMathFormats> kMathNames = {"bf16", "fp8", "fp4", "int8"};

// A host of a few cores has a hundredth.
std::string teraflops(FlopsPerSecond rate) {
  if (rate.value() <= 0) return "-";
  return rate.value() < 1e12 ? fmt::format("{:.3f}", rate.value() / 1e12) : fmt::format("{:.0f}", rate.value() / 1e12);
}

std::string gigabytes(BytesPerSecond rate) { return short_number(rate.value() / 1e9); }

std::string link_line(const char* what, const LinkSpec& link) {
  return fmt::format("  {:<10}  {} at {} GB/s each way, {}\n", what, link.kind, gigabytes(link.bandwidth), format_seconds(link.latency));
}

std::string peaks_line(const DeviceSpec& device) {
  std::string text;
  for (std::size_t i = 0; i < kMathNames.size(); ++i) {
    if (device.peak[i].value() > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", teraflops(device.peak[i]), kMathNames[i]);
  }
  return text + " TFLOP/s, dense";
}

std::string sources_table(const HardwareProfile& machine) {
  constexpr std::size_t kWidth = 90;
  Table table({{"value", Align::kLeft}, {"source", Align::kLeft}});
  for (const auto& [pointer, source] : machine.sources) {
    const auto lines = wrapped(source, kWidth);
    for (std::size_t i = 0; i < lines.size(); ++i) table.add_row({i == 0 ? pointer : "", lines[i]});
  }
  return table.empty() ? "" : "\n" + table.text(2);
}

// Whether the kernel coefficients were fitted on this machine's own measurements, by their sources.
const char* coefficients_of(const HardwareProfile& machine) {
  if (!machine.calibrated) return "none";
  const bool fitted = std::any_of(machine.sources.begin(), machine.sources.end(), [](const auto& row) {
    return row.first.rfind("/kernels/", 0) == 0 && row.second.rfind("fitted", 0) == 0;
  });
  return fitted ? "fitted" : "transferred";
}

}  // namespace

std::string machines_table(const std::vector<HardwareProfile>& machines) {
  Table table({{"machine", Align::kLeft}, {"memory GiB"}, {"TB/s"}, {"bf16 TFLOP/s"}, {"fp8"}, {"fp4"}, {"fast domain"}, {"GB/s each way"},
               {"NIC Gb/s"}, {"coefficients", Align::kLeft}});
  for (const HardwareProfile& m : machines) {
    table.add_row({m.name, in_gib(m.device.memory), fmt::format("{:.2f}", m.device.memory_bandwidth.value() / 1e12),
                   teraflops(m.device.peak[0]), teraflops(m.device.peak[1]), teraflops(m.device.peak[2]), std::to_string(m.node.domain),
                   gigabytes(m.node.scale_up.bandwidth), short_number(m.node.nic.bandwidth.value() * 8 / 1e9), coefficients_of(m)});
  }
  return table.text();
}

std::string machine_table(const HardwareProfile& machine) {
  const DeviceSpec& d = machine.device;
  const NodeSpec& n = machine.node;
  std::string text = fmt::format("{}: {}\n", machine.name, machine.title);
  text += fmt::format("  device      {} ({}, {} multiprocessors, {} W)\n", d.name, d.architecture, d.sm_count, short_number(d.power_watts));
  text += fmt::format("  memory      {} at {:.{}f} TB/s\n", format_bytes(d.memory), d.memory_bandwidth.value() / 1e12, d.memory_bandwidth.value() < 1e11 ? 4 : 2);
  text += fmt::format("  arithmetic  {}\n", peaks_line(d));
  text += fmt::format("  node        {} devices and {} network adapters, fast domain of {}{}\n", n.devices, n.nics, n.domain,
                      n.in_switch_reduction ? " that reduces in its switch" : "");
  text += link_line("domain", n.scale_up) + link_line("adapter", n.nic) + link_line("host", n.pcie);
  text += fmt::format("  pricing     {}\n", machine.calibrated ? "fitted coefficients" : "speed of light only");
  return text + sources_table(machine);
}

}  // namespace shardplan
