#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "calibrate/fit/record_fit.h"

namespace shardplan {
namespace {

using Ordered = nlohmann::ordered_json;

Ordered sourced(const Ordered& value, const std::string& source) { return {{"value", value}, {"source", source}}; }

Ordered device_of(const RecordFile& file, const MachineRates& rates) {
  const std::string best = "the best that a record reached";
  return {{"name", file.header.device},
          {"vendor", "host"},
          {"architecture", file.header.backend},
          {"sm_count", sourced(1, "a rank is one thread")},
          {"memory",
           sourced(fmt::format("{:.0f} MiB", std::max(file.header.memory_bytes, 1e9) / 1048576), "operating system")},
          {"memory_bandwidth", sourced(fmt::format("{:.6g} GB/s", rates.bandwidth_bytes_per_us * 1e-3), best)},
          {"power_watts", sourced(100, "not measured")},
          {"peak", {{"bf16", sourced(fmt::format("{:.6g} GFLOP/s", rates.peak_flops_per_us * 1e-3), best)}}}};
}

Ordered node_of(const MachineRates& rates, std::int64_t ranks) {
  const std::string link = fmt::format("{:.6g} GB/s", std::max(rates.link_bytes_per_us, 1.0) * 1e-3);
  const std::string source = "ranks are threads of one host";
  return {{"devices", sourced(ranks, source)},
          {"domain", sourced(ranks, source)},
          {"in_switch_reduction", false},
          {"pcie", {{"bandwidth", sourced(link, source)}, {"latency", sourced("0.001 us", source)}}},
          {"nics", sourced(1, source)},
          {"nic", {{"bandwidth", sourced(link, source)}, {"latency", sourced("1 us", source)}}}};
}

}  // namespace

MachineRates machine_rates(const RecordFile& file) {
  MachineRates rates;
  for (const Record& r : file.records) {
    double& best = r.is_collective() ? rates.link_bytes_per_us : rates.bandwidth_bytes_per_us;
    best = std::max(best, r.bytes / r.microseconds);
    if (r.kind == "gemm") rates.peak_flops_per_us = std::max(rates.peak_flops_per_us, r.flops / r.microseconds);
  }
  return rates;
}

std::string machine_document(const RecordFile& file, const MachineRates& rates, const std::string& name) {
  std::int64_t ranks = 1;
  for (const Record& record : file.records) ranks = std::max(ranks, record.ranks);
  Ordered document = {{"schema", "hardware-1"},
                      {"name", name},
                      {"title", file.header.device + ", ranks on one host"},
                      {"aliases", Ordered::array()}};
  document["device"] = device_of(file, rates);
  document["node"] = node_of(rates, ranks);
  document["fabric"] = {{"source", "none: one host"}, {"nodes_per_leaf", 1},     {"oversubscription", 1},
                        {"leaf_latency", "1 us"},     {"spine_latency", "1 us"}, {"rail_optimised", false}};
  return document.dump(2) + "\n";
}

}  // namespace shardplan
