#include "tools/documents/hardware_document.h"

#include <array>
#include <nlohmann/json.hpp>

#include "tools/documents/document.h"

namespace shardplan {
namespace {

Document link_document(const LinkSpec& link) {
  return {{"kind", link.kind}, {"bytes_per_second", link.bandwidth.value()}, {"latency_seconds", link.latency.value()}};
}

Document device_document(const DeviceSpec& device) {
  constexpr std::array<const char*, kMathFormats> kNames = {"bf16", "fp8", "fp4", "int8"};
  Document peak = Document::object();
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (device.peak[i].value() > 0) peak[kNames[i]] = device.peak[i].value();
  }
  return {{"name", device.name},
          {"vendor", device.vendor},
          {"architecture", device.architecture},
          {"sm_count", device.sm_count},
          {"memory_bytes", device.memory.value()},
          {"memory_bytes_per_second", device.memory_bandwidth.value()},
          {"power_watts", device.power_watts},
          {"peak_flops_per_second", peak}};
}

Document node_document(const NodeSpec& node) {
  return {{"devices", node.devices},
          {"domain", node.domain},
          {"scale_up", link_document(node.scale_up)},
          {"in_switch_reduction", node.in_switch_reduction},
          {"pcie", link_document(node.pcie)},
          {"nics", node.nics},
          {"nic", link_document(node.nic)},
          {"nic_direct", node.nic_direct}};
}

Document machine_document(const HardwareProfile& machine) {
  const FabricSpec& fabric = machine.fabric;
  Document document = {{"name", machine.name},
                       {"title", machine.title},
                       {"calibrated", machine.calibrated},
                       {"device", device_document(machine.device)},
                       {"node", node_document(machine.node)},
                       {"fabric", {{"nodes_per_leaf", fabric.nodes_per_leaf},
                                   {"oversubscription", fabric.oversubscription},
                                   {"leaf_latency_seconds", fabric.leaf_latency.value()},
                                   {"spine_latency_seconds", fabric.spine_latency.value()},
                                   {"rail_optimised", fabric.rail_optimised}}}};
  if (machine.price_per_hour > 0) document["price_usd_per_hour"] = machine.price_per_hour;
  document["sources"] = machine.sources;
  return document;
}

}  // namespace

std::string hardware_document(const std::vector<HardwareProfile>& machines) {
  Document document = {{"schema", "shardplan.hardware/1"}};
  document["machines"] = Document::array();
  for (const HardwareProfile& machine : machines) document["machines"].push_back(machine_document(machine));
  document["run"] = run_document();
  return text_of(document);
}

}  // namespace shardplan
