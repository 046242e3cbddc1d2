// Every row of the reference table of devices against the catalog.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "hwprofiles/profile.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) fields.emplace_back();
    if (c != '"' && (c != ',' || quoted)) fields.back() += c;
  }
  return fields;
}

// Rows by column name; empty when the reference is not there.
std::vector<Row> device_rows() {
  const char* root = std::getenv("SHARDPLAN_SHARED");
  std::ifstream file(std::string(root == nullptr ? "" : root) + "/measured/hw_specs.csv");
  std::string line;
  std::vector<std::string> header;
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = fields_of(line);
    if (header.empty()) {
      header = fields;
      continue;
    }
    Row& row = rows.emplace_back();
    for (std::size_t i = 0; i < header.size() && i < fields.size(); ++i) row[header[i]] = fields[i];
  }
  return rows;
}

double number(const Row& row, const std::string& column) {
  const std::string& text = row.at(column);
  return text.empty() ? 0 : std::stod(text);
}

// Datasheets round to three digits.
void check_rate(const std::string& what, double catalog, double table) {
  INFO(what);
  CHECK(catalog == Approx(table).epsilon(2e-3));
}

// What one device sends to all others of its domain; where the table has a domain of bridges, the bridge's rate.
double link_of(const Row& row) {
  const std::string& kind = row.at("scaleup_kind");
  const auto bridge = kind.find("bridge");
  if (bridge == std::string::npos || number(row, "scaleup_domain") == 1) return number(row, "scaleup_gbs_per_dir");
  return std::stod(kind.substr(kind.find(": ", bridge) + 2));
}

// Sixteen lanes by generation: the table's column of GB/s has gen 5's for GB300, which could not feed its adapter.
double pcie_gbs(const Row& row) { return std::exp2(number(row, "pcie_gen") + 1); }

double link_of(const NodeSpec& node) {
  return node.scale_up.bandwidth.value() / 1e9 * (node.mesh ? node.domain - 1 : 1);
}

void check_memory(const Bytes memory, const Row& row) {
  if (number(row, "mem_mib_reported") > 0) {
    CHECK(memory.value() == static_cast<std::int64_t>(number(row, "mem_mib_reported")) * kMiB);
  } else {
    CHECK(memory.value() == static_cast<std::int64_t>(number(row, "mem_gb_nominal")) * kGiB);
  }
}

void check_row(const Row& row) {
  const HardwareProfile machine = load_hardware(row.at("name"));
  const DeviceSpec& device = machine.device;
  CHECK(device.sm_count == number(row, "sm_count"));
  CHECK(device.power_watts == number(row, "tdp_w"));
  CHECK(device.vendor == row.at("vendor"));
  check_memory(device.memory, row);
  check_rate("memory bandwidth", device.memory_bandwidth.value() / 1e9, number(row, "mem_bw_gbs"));
  check_rate("bf16", device.peak[0].value() / 1e12, number(row, "bf16_dense_tflops"));
  check_rate("fp8", device.peak[1].value() / 1e12, number(row, "fp8_dense_tflops"));
  check_rate("fp4", device.peak[2].value() / 1e12, number(row, "fp4_dense_tflops"));
  check_rate("int8", device.peak[3].value() / 1e12, number(row, "int8_dense_tops"));
  check_rate("scale-up link", link_of(machine.node), link_of(row));
  check_rate("PCIe", machine.node.pcie.bandwidth.value() / 1e9, pcie_gbs(row));
  CHECK(machine.node.devices == number(row, "gpus_per_node"));
  if (machine.node.scale_up.kind != "pcie") CHECK(machine.node.domain == number(row, "scaleup_domain"));
  if (!row.at("nic_gbps_per_gpu").empty()) {
    const double per_device = machine.node.nic.bandwidth.value() * machine.node.nics / machine.node.devices;
    check_rate("network per device", per_device * 8 / 1e9, number(row, "nic_gbps_per_gpu"));
  }
}

TEST_CASE("every device of the reference table is in the catalog under the table's name, number by number") {
  const std::vector<Row> rows = device_rows();
  if (rows.empty()) {
    WARN("skipped: no measured/hw_specs.csv in SHARDPLAN_SHARED");
    return;
  }
  CHECK(rows.size() >= 25);
  for (const Row& row : rows) {
    INFO(row.at("name"));
    check_row(row);
  }
}

}  // namespace
}  // namespace shardplan
