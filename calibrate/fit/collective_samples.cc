// Collectives inside one domain: the price of the profile's own rows, with the parameters that are being fitted.
#include <memory>

#include "calibrate/fit/collective_rows.h"
#include "calibrate/fit/kernel_samples.h"

namespace shardplan {
namespace {

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
std::vector<std::string> rows_of(const PricedCollectives& samples) {
  const std::string kind(collective_name(samples.kind()));
  if (!samples.graph() && samples.kind() != CollectiveKind::kAllReduce) return {kind, "ll_" + kind};
  if (!samples.profile().node.in_switch_reduction) return {samples.graph() ? "graph_all_reduce" : "all_reduce"};
  if (samples.graph()) return {"graph_all_reduce", "graph_nvls_all_reduce"};
  return {"all_reduce", "nvls_all_reduce"};
}

// Where a row's fit starts, whatever the profile has.
RowParameters start_of(const std::string& row) {
  if (row.starts_with("ll_")) return {5, 0.8, 0.3, 0.05, 0.3};            // little latency, part of the bandwidth
  if (row.find("nvls") != std::string::npos) return {row.starts_with("graph") ? 8.0 : 20.0, 0.5, 0.7, 3, 0.5};
  if (row.starts_with("graph")) return {3, 0.4, 0.7, 1, 0.5};
  return {8, 1, 0.8, 3, 0.5};
}

// The engine's own kernels are fitted as if there were no others, so that a fit does not depend on the profile's rows.
std::shared_ptr<PricedCollectives> priced(const HardwareProfile& hardware, CollectiveKind kind, bool custom) {
  const auto result = std::make_shared<PricedCollectives>(hardware, kind, custom);
  if (!custom) return result;
  for (const char* row : {"all_reduce", "nvls_all_reduce"}) result->leave_out(row);
  return result;
}

}  // namespace

std::vector<FitInput> collective_inputs(const MeasuredTable& table, const HardwareProfile& hardware) {
  const bool custom = table.table.starts_with("custom_allreduce");
  std::map<std::string, std::pair<FitInput, std::shared_ptr<PricedCollectives>>> by_kind;
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
    if (!samples) samples = priced(hardware, kind, custom);
    if (bytes / cell.microseconds * 1e6 > 2 * samples->links(ranks).intra_bandwidth.value()) { ++input.dropped["over the links' bandwidth"]; continue; }
    samples->add({.message_bytes = bytes, .ranks = ranks});
    add_sample(input, table, cell, hash_of({bytes, static_cast<double>(ranks)}), bytes);
  }
  std::vector<FitInput> out;
  for (auto& [name, entry] : by_kind) {
    auto& [input, samples] = entry;
    if (!samples) continue;
    input.key = custom ? "graph_all_reduce" : std::string(collective_name(samples->kind()));
    input.collectives = rows_of(*samples);
    input.on = source_of(table);
    for (const std::string& row : input.collectives) {
      const RowParameters start = start_of(row);
      input.start.insert(input.start.end(), start.begin(), start.end());
    }
    input.predict = [samples, rows = input.collectives](std::size_t i, const double* p) { return samples->predicted_us(i, rows, p); };
    out.push_back(std::move(input));
  }
  return out;
}

}  // namespace shardplan
