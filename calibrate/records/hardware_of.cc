#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "calibrate/records/fit_records.h"

namespace shardplan {
namespace {

using Json_ = nlohmann::ordered_json;

Json_ sourced(const Json_& value, const std::string& source) { return {{"value", value}, {"source", source}}; }

std::string source_of(const FitQuality& quality) {
  return fmt::format("fitted on {} records measured here, mean error {:.1f} % on {} shapes left out", quality.fitted, quality.error_ratio * 100, quality.held_out);
}

Json_ device_of(const RecordFile& file, const RecordFit& fit) {
  const std::string best = "the best that a record reached";
  return {{"name", file.header.device},
          {"vendor", "host"},
          {"architecture", file.header.backend},
          {"sm_count", sourced(std::max<std::int64_t>(file.header.cores, 1), "operating system")},
          {"memory", sourced(fmt::format("{:.0f} MiB", std::max(file.header.memory_bytes, 1e9) / 1048576), "operating system")},
          {"memory_bandwidth", sourced(fmt::format("{:.6g} GB/s", fit.bandwidth_bytes_per_us * 1e-3), best)},
          {"power_watts", sourced(100, "not measured")},
          {"peak", {{"bf16", sourced(fmt::format("{:.6g} GFLOP/s", fit.peak_flops_per_us * 1e-3), best)}}}};
}

Json_ node_of(const RecordFit& fit, std::int64_t ranks) {
  const std::string link = fmt::format("{:.6g} GB/s", std::max(fit.link_bytes_per_us, 1.0) * 1e-3);
  const std::string source = "ranks are threads of one host";
  return {{"devices", sourced(ranks, source)},
          {"domain", sourced(ranks, source)},
          {"in_switch_reduction", false},
          {"pcie", {{"bandwidth", sourced(link, source)}, {"latency", sourced("0.001 us", source)}}},
          {"nics", sourced(1, source)},
          {"nic", {{"bandwidth", sourced(link, source)}, {"latency", sourced("1 us", source)}}}};
}

}  // namespace

std::string hardware_of(const RecordFile& file, const RecordFit& fit, const std::string& name, std::int64_t ranks) {
  Json_ document = {{"schema", "hardware-1"}, {"name", name}, {"title", file.header.device + ", ranks on one host"}, {"aliases", Json_::array()}};
  document["device"] = device_of(file, fit);
  document["node"] = node_of(fit, ranks);
  document["fabric"] = {{"source", "none: one host"}, {"nodes_per_leaf", 1}, {"oversubscription", 1}, {"leaf_latency", "1 us"}, {"spine_latency", "1 us"}, {"rail_optimised", false}};
  for (const auto& [family, k] : fit.kernels) {
    document["kernels"][family] = {{"fixed", fmt::format("{:.4g} us", k.fixed_us)}, {"compute_efficiency", k.compute_efficiency},
                                   {"memory_efficiency", k.memory_efficiency}, {"source", source_of(k.quality)}};
  }
  for (const auto& [kind, c] : fit.collectives) {
    document["collectives"][kind] = {{"base", fmt::format("{:.4g} us", c.base_us)}, {"per_rank", fmt::format("{:.4g} us", c.per_rank_us)},
                                     {"efficiency", c.efficiency}, {"half", "1 B"}, {"ramp", 0.0}, {"source", source_of(c.quality)}};
  }
  return document.dump(2) + "\n";
}

}  // namespace shardplan
