#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/json.h"
#include "base/units.h"
#include "hwprofiles/extend.h"
#include "hwprofiles/profile.h"
#include "hwprofiles/read_coefficients.h"
#include "hwprofiles/sourced_object.h"

namespace shardplan {
namespace {

constexpr std::string_view kSchema = "hardware-1";
constexpr std::array<const char*, kMathFormats> kFormatKeys{"bf16", "fp8", "fp4", "int8"};
constexpr std::int64_t kMaxDevicesPerNode = 1024;
constexpr std::int64_t kMaxDomain = 65536;
constexpr Seconds kMaxSwitchLatency{1e-3};

// What NVIDIA's driver keeps where a profile does not say: between what nvidia-smi reports and what programs log as
// total (RTX 4090 0.47, H100 0.46, H200 0.6, B200 0.7 GiB).
Bytes usual_reserve(const DeviceSpec& device) {
  if (device.vendor != "NVIDIA") return Bytes(0);
  return std::min(Bytes(400 * kMiB + device.memory.value() / 667), Bytes(device.memory.value() / 20));
}

DeviceSpec read_device(SourcedObject object) {
  DeviceSpec device;
  JsonObject& plain = object.plain();
  device.name = plain.string("name");
  device.vendor = plain.string("vendor");
  device.architecture = plain.string("architecture");
  device.sm_count = static_cast<int>(object.count("sm_count", 100'000));
  device.memory = object.bytes("memory");
  device.reserved = object.has("reserved") ? object.bytes("reserved") : usual_reserve(device);
  device.memory_bandwidth = object.bandwidth("memory_bandwidth");
  device.power_watts = object.number("power_watts", 1e6);
  if (object.has("sustained")) device.sustained = object.number("sustained", 1);
  SourcedObject peak = object.section("peak");
  for (std::size_t i = 0; i < kFormatKeys.size(); ++i) {
    if (peak.has(kFormatKeys[i])) device.peak[i] = peak.flops_rate(kFormatKeys[i]);
  }
  peak.plain().refuse_unread({kFormatKeys.begin(), kFormatKeys.end()});
  if (device.peak.front().value() == 0)
    throw InputError(peak.plain().where("bf16"), "is missing", "the dense bf16 peak");
  object.refuse_unread();
  return device;
}

LinkSpec read_bandwidth_and_latency(SourcedObject& object, const std::string& kind) {
  LinkSpec link;
  link.kind = kind;
  link.bandwidth = object.bandwidth("bandwidth");
  link.latency = object.latency("latency");
  object.refuse_unread();
  return link;
}

LinkSpec read_link(SourcedObject object, const std::string& kind) { return read_bandwidth_and_latency(object, kind); }

// "topology": "switch" (default: each device has one link, to a switch) or "mesh" (one to each other device).
void read_scale_up(SourcedObject object, NodeSpec& node) {
  JsonObject& plain = object.plain();
  const std::string topology = plain.string_or("topology", "switch");
  if (topology != "switch" && topology != "mesh")
    throw InputError(plain.where("topology"), "is \"" + topology + "\"", "switch or mesh");
  node.mesh = topology == "mesh";
  if (node.mesh && node.domain > kMaxMeshDomain)
    throw InputError(plain.where("topology"), "is a mesh of too many devices", "at most 16");
  node.scale_up = read_bandwidth_and_latency(object, plain.string("kind"));
}

// A fast domain is made of whole hosts or divides one; every NIC has the same number of devices behind it.
void require_consistent(const NodeSpec& node, const JsonObject& object) {
  if (node.devices % node.nics != 0) {
    throw InputError(object.where("nics"), "does not divide the devices of a host", "for example one NIC per device");
  }
  const bool whole = node.domain % node.devices == 0 || node.devices % node.domain == 0;
  if (node.scale_up.kind == "pcie" ? node.domain != node.devices : !whole) {
    throw InputError(object.where("domain"), "is not made of whole hosts, nor an even part of one",
                     "a multiple or a divisor of devices; exactly devices where there is no scale-up fabric");
  }
  if (node.mesh && node.in_switch_reduction)
    throw InputError(object.where("in_switch_reduction"), "needs a switch, and scale_up is a mesh", "false");
}

NodeSpec read_node(SourcedObject object) {
  NodeSpec node;
  node.devices = static_cast<int>(object.count("devices", kMaxDevicesPerNode));
  node.domain = object.has("domain") ? static_cast<int>(object.count("domain", kMaxDomain)) : node.devices;
  node.pcie = read_link(object.section("pcie"), "pcie");
  node.scale_up = node.pcie;
  if (object.has("scale_up")) read_scale_up(object.section("scale_up"), node);
  node.in_switch_reduction = object.plain().boolean_or("in_switch_reduction", false);
  node.nics = static_cast<int>(object.count("nics", kMaxDevicesPerNode));
  node.nic = read_link(object.section("nic"), "nic");
  node.nic_direct = object.plain().boolean_or("nic_direct", true);
  object.refuse_unread();
  require_consistent(node, object.plain());
  return node;
}

Seconds switch_latency(JsonObject& object, std::string_view key) {
  const Seconds latency = parse_seconds(object.string(key), object.where(key));
  if (latency > kMaxSwitchLatency) throw InputError(object.where(key), "is longer than 1 ms", "for example \"0.5 us\"");
  return latency;
}

FabricSpec read_fabric(SourcedObject object) {
  FabricSpec fabric;
  object.read_source();
  JsonObject& plain = object.plain();
  plain.ignore("note");
  fabric.nodes_per_leaf = static_cast<int>(plain.integer("nodes_per_leaf", 1, 1'000'000));
  fabric.oversubscription = plain.number("oversubscription", 1, 1000);
  fabric.leaf_latency = switch_latency(plain, "leaf_latency");
  fabric.spine_latency = switch_latency(plain, "spine_latency");
  fabric.rail_optimised = plain.boolean_or("rail_optimised", true);
  object.refuse_unread();
  return fabric;
}

void require_schema(JsonObject& root) {
  const std::string schema = root.string("schema");
  if (schema != kSchema) throw InputError(root.where("schema"), "is \"" + schema + "\"", std::string(kSchema));
}

}  // namespace

HardwareProfile read_hardware(std::string_view json, const std::string& where) {
  const Json document = extend_profile(parse_json(json, where), where);
  HardwareProfile profile;
  SourcedObject root(JsonObject(document, where), "", profile.sources);
  JsonObject& plain = root.plain();
  require_schema(plain);
  for (const char* described_elsewhere : {"extends", "aliases", "note"}) plain.ignore(described_elsewhere);
  profile.name = plain.string("name");
  profile.title = plain.string_or("title", profile.name);
  profile.device = read_device(root.section("device"));
  profile.node = read_node(root.section("node"));
  profile.fabric = read_fabric(root.section("fabric"));
  read_kernels(root, profile);
  read_collectives(root, profile);
  profile.calibrated = !profile.kernels.empty();
  if (root.has("price_usd_per_hour")) profile.price_per_hour = root.number("price_usd_per_hour", 1e6);
  root.plain().refuse_unread({"schema", "extends", "name", "aliases", "title", "note", "device", "node", "fabric",
                              "kernels", "collectives", "price_usd_per_hour"});
  return profile;
}

}  // namespace shardplan
