// Collectives inside one domain: the price of the profile's own rows, with the parameters that are being fitted.
#include <algorithm>
#include <array>
#include <memory>

#include "calibrate/fit/kernel_samples.h"
#include "costmodel/collectives/collective.h"
#include "hwprofiles/fabric.h"

namespace shardplan {
namespace {

struct Sample {
  double bytes = 0;
  int ranks = 2;
};

struct Samples {
  HardwareProfile profile;                 // its rows are overwritten by each trial: one thread per fit
  std::map<int, GroupLinks> links;         // by ranks
  CollectiveKind kind = CollectiveKind::kAllReduce;
  bool graph = false;
  std::vector<Sample> all;
};

CollectiveCoefficients row_of(const double* p) {
  CollectiveCoefficients row;
  row.base = Seconds(p[0] * kMicro);
  row.per_rank = Seconds(p[1] * kMicro);
  row.efficiency = p[2];
  row.half = Bytes(static_cast<std::int64_t>(p[3] * 1e6));
  row.ramp = p[4];
  return row;
}

// "all_reduce" of the tables' op_name, or false.
bool kind_of(const std::string& name, CollectiveKind& kind) {
  if (name == "all_reduce") kind = CollectiveKind::kAllReduce;
  else if (name == "all_gather") kind = CollectiveKind::kAllGather;
  else if (name == "reduce_scatter") kind = CollectiveKind::kReduceScatter;
  else if (name == "alltoall" || name == "all_to_all") kind = CollectiveKind::kAllToAll;
  else return false;
  return true;
}

double element_bytes_of(const MeasuredTable& table, std::size_t row) {
  const std::string type = table.text_or(row, "nccl_dtype", table.text_or(row, "allreduce_dtype", "half"));
  return type == "int8" || type == "byte" ? 1 : type == "float" || type == "float32" ? 4 : 2;
}

// Rows that the library chooses among for this kind.
std::vector<std::string> rows_of(const Samples& samples, const std::string& suffix) {
  const std::string kind(collective_name(samples.kind));
  if (!samples.graph && samples.kind != CollectiveKind::kAllReduce) return {kind + suffix, "ll_" + kind + suffix};
  if (!samples.profile.node.in_switch_reduction) return {(samples.graph ? "graph_all_reduce" : "all_reduce") + suffix};
  if (samples.graph) return {"graph_all_reduce" + suffix, "graph_nvls_all_reduce" + suffix};
  return {"all_reduce" + suffix, "nvls_all_reduce" + suffix};
}

// Where a row's fit starts, whatever the profile has: base and step in us, efficiency, half in MB, ramp.
std::array<double, 5> start_of(const std::string& row) {
  if (row.starts_with("ll_")) return {5, 0.8, 0.3, 0.05, 0.3};            // little latency, part of the bandwidth
  if (row.find("nvls") != std::string::npos) return {row.starts_with("graph") ? 8.0 : 20.0, 0.5, 0.7, 3, 0.5};
  if (row.starts_with("graph")) return {3, 0.4, 0.7, 1, 0.5};
  return {8, 1, 0.8, 3, 0.5};
}

// The engine's own kernels are fitted as if there were no others, so that a fit does not depend on the profile's rows.
void leave_out_library(HardwareProfile& profile) {
  for (const char* row : {"all_reduce", "nvls_all_reduce"}) profile.collectives[row].base = Seconds(1);
}

const GroupLinks& links_of(Samples& samples, int ranks) {
  const auto found = samples.links.find(ranks);
  if (found != samples.links.end()) return found->second;
  std::vector<int> group;
  for (int rank = 0; rank < ranks; ++rank) group.push_back(rank);
  return samples.links.emplace(ranks, Fabric(samples.profile, ranks).links(group)).first->second;
}

double predicted_us(Samples& samples, const std::vector<std::string>& rows, std::size_t i, const double* p) {
  for (std::size_t r = 0; r < rows.size(); ++r) samples.profile.collectives[rows[r]] = row_of(p + 5 * r);
  const Sample& sample = samples.all[i];
  const CollectiveRequest request{.kind = samples.kind, .message_bytes = sample.bytes, .sent_bytes = 0, .graph_captured = samples.graph, .source = {}};
  return price_collective(request, samples.links.at(sample.ranks), samples.profile, PriceMode::kCalibrated).time.value() * 1e6;
}

}  // namespace

std::vector<FitInput> collective_inputs(const MeasuredTable& table, const HardwareProfile& hardware) {
  const bool custom = table.table.starts_with("custom_allreduce");
  std::map<std::string, std::pair<FitInput, std::shared_ptr<Samples>>> by_kind;
  for (const Measurement& cell : table.cells) {
    const std::string name = custom ? "all_reduce" : table.text(cell.row, "op_name");
    CollectiveKind kind{};
    if (!kind_of(name, kind)) continue;
    auto& [input, samples] = by_kind[name];
    if (custom && table.text_or(cell.row, "backend", "graph").find("eager") != std::string::npos) { ++input.dropped["eager: the host's launch"]; continue; }
    const double bytes = cell.swept * element_bytes_of(table, cell.row);
    const int ranks = static_cast<int>(table.number(cell.row, "num_gpus"));
    if (custom && bytes > 64 * kMiB) { ++input.dropped["over 64 MiB, where engines leave it to NCCL"]; continue; }
    if (ranks < 2 || ranks > hardware.node.domain) { ++input.dropped["more ranks than a domain"]; continue; }
    if (!samples) {
      samples = std::make_shared<Samples>();
      samples->profile = hardware;
      samples->kind = kind;
      samples->graph = custom;
      if (custom) leave_out_library(samples->profile);
    }
    const GroupLinks& links = links_of(*samples, ranks);
    if (bytes / cell.microseconds * 1e6 > 2 * links.intra_bandwidth.value()) { ++input.dropped["over the links' bandwidth"]; continue; }
    samples->all.push_back({bytes, ranks});
    add_sample(input, table, cell, hash_of({bytes, static_cast<double>(ranks)}), bytes);
  }
  std::vector<FitInput> out;
  for (auto& [name, entry] : by_kind) {
    auto& [input, samples] = entry;
    if (!samples) continue;
    input.key = custom ? "graph_all_reduce" : std::string(collective_name(samples->kind));
    input.collectives = rows_of(*samples, "");
    input.on = table.origin + ": " + table.backend + " " + table.version + " " + table.table;
    for (const std::string& row : input.collectives) {
      const std::array<double, 5> start = start_of(row);
      input.start.insert(input.start.end(), start.begin(), start.end());
    }
    input.predict = [samples, rows = input.collectives](std::size_t i, const double* p) { return predicted_us(*samples, rows, i, p); };
    out.push_back(std::move(input));
  }
  return out;
}

}  // namespace shardplan
