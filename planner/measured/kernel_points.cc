#include "planner/measured/kernel_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/errors.h"
#include "calibrate/fit/judge_tables.h"

namespace shardplan {
namespace {

enum Grouping : std::size_t { kDevice, kFamily, kFormat, kRow, kLibrary, kFittedOn, kRanks, kSize };

constexpr const char* kGroupings[] = {"device", "family", "format", "row", "library", "fitted on", "ranks", "size"};
static_assert(std::size(kGroupings) == kSize + 1);

// "gemm", "bf16" of "gemm.bf16@trtllm".
std::string family_of(const std::string& key) {
  const std::size_t from = key.starts_with("inter.") ? std::string_view("inter.").size() : 0;
  return key.substr(0, key.find_first_of(".@", from));
}

std::string format_of(const std::string& key) {
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos) return "";
  return key.substr(dot + 1, key.find_first_of(".@", dot + 1) - dot - 1);
}

bool is_collective(const MeasuredTable& table) { return table.family == "comm"; }

std::string bytes_text(double bytes) {
  if (bytes >= 1 << 20) return fmt::format("{:.0f} MiB", bytes / (1 << 20));
  return bytes >= 1024 ? fmt::format("{:.0f} KiB", bytes / 1024) : fmt::format("{:.0f} B", bytes);
}

// A class of sizes, sixteen-fold wide: "gemm 64 to 1023", "all_reduce from 64 KiB".
std::string size_class(const MeasuredTable& table, const std::string& family, double swept) {
  const double low = std::pow(16.0, std::floor(std::log2(std::max(swept, 1.0)) / 4));
  if (table.swept == "message_size") return fmt::format("{} from {}", family, bytes_text(low));
  return fmt::format("{} from {:.0f}", family, low);
}

// "n=4096, k=4096, m=64"
std::string shape_text(const MeasuredTable& table, std::size_t cell) {
  const Measurement& m = table.cells[cell];
  std::string out;
  for (const std::string& column : table.columns) {
    if (column == "latency_us" || column == "message_size" || column == "op_name" || column == table.swept ||
        column.ends_with("_us") || column.ends_with("_gbps"))
      continue;
    out += (out.empty() ? "" : ", ") + column + "=" + table.text_or(m.row, column, "");
  }
  return out + fmt::format("{}{}={:g}", out.empty() ? "" : ", ", table.swept, m.swept);
}

std::string share_text(const std::vector<ParameterShare>& shares) {
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, shares.size()); ++i) {
    if (std::abs(shares[i].share) < 0.05) break;
    out += fmt::format("{}{} {:+.0f} %", out.empty() ? "" : ", ", shares[i].parameter, 100 * shares[i].share);
  }
  return out;
}

std::string ranks_text(const MeasuredTable& table, const Measurement& cell) {
  const std::string ranks = table.text_or(cell.row, "num_gpus", "");
  return ranks.empty() ? table.text_or(cell.row, "node_num", "?") + " nodes, " : ranks + " ranks, ";
}

struct Filled {
  PointReport& report;
  const MeasuredTable& table;
  const HardwareProfile& hardware;
  std::uint16_t file;
};

void add_row(const Filled& to, const JudgedRow& row) {
  PointReport& r = to.report;
  const std::string family = family_of(row.key);
  for (const auto& [why, count] : row.dropped) r.left_out[why] += count;
  if (!row.has_row && !row.samples.empty()) {
    r.not_predicted[fmt::format("{} has no row {}", to.hardware.name, row.key)] +=
        static_cast<std::int64_t>(row.samples.size());
  }
  MeasuredPoint common{.file = to.file};
  const auto set = [&](Grouping g, const std::string& name) {
    common.groups[g] = name.empty() ? std::uint16_t{0} : group_index(r, g, name);
  };
  set(kDevice, to.hardware.name);
  set(kFamily, family);
  set(kFormat, format_of(row.key));
  set(kRow, to.hardware.name + " " + row.key);
  set(kLibrary, to.table.backend + " " + to.table.version);
  set(kFittedOn, row.same_table ? "this table" : "another table");
  const std::size_t first = r.points.size();
  std::map<std::string, std::uint16_t> sizes, ranks;  // interned here: names are few, samples many
  for (const JudgedSample& s : row.samples) {
    const Measurement& cell = to.table.cells[s.cell];
    MeasuredPoint p = common;
    p.line = cell.line;
    p.measured = s.measured_us;
    p.predicted = s.predicted_us;
    p.p10 = s.spread.p10;
    p.p90 = s.spread.p90;
    p.apart = s.slow_series;
    const auto interned = [&](std::map<std::string, std::uint16_t>& known, Grouping g, const std::string& name) {
      const auto [at, fresh] = known.try_emplace(name, 0);
      if (fresh) at->second = group_index(r, g, name);
      return at->second;
    };
    p.groups[kSize] = interned(sizes, kSize, size_class(to.table, family, cell.swept));
    if (is_collective(to.table)) p.groups[kRanks] = interned(ranks, kRanks, ranks_text(to.table, cell) + family);
    r.points.push_back(p);
  }
  for (const WorstSample& w : row.worst) {
    r.worst.push_back(
        {first + w.sample,
         fmt::format("{} {}: {}", to.hardware.name, row.key, shape_text(to.table, row.samples[w.sample].cell)),
         share_text(w.shares)});
  }
  if (row.has_row && row.same_table) {
    r.held_out.push_back({to.hardware.name + " " + row.key, row.fit.points, row.fit.held_out_mean,
                          row.fit.held_out_median, to.table.backend + " " + to.table.version});
  }
}

}  // namespace

PointReport validate_kernels(const std::vector<MeasuredTable>& tables, const std::string& hardware, std::size_t worst) {
  PointReport report;
  report.kind = "kernels and collectives";
  report.apart_name = "series that are slow as a whole";
  report.quantities = {{"time", "us"}};
  for (const char* by : kGroupings) report.groupings.push_back({by});
  std::map<std::string, HardwareProfile> machines;
  for (const MeasuredTable& table : tables) {
    const std::string& name = hardware.empty() ? table.system : hardware;
    if (name.empty())
      throw InputError("--hardware", "is missing", "the machine of " + table.path + ", which does not name it");
    const auto [machine, fresh] = machines.try_emplace(name);
    if (fresh) machine->second = load_hardware(name);
    report.files.push_back(table.path);
    const std::vector<JudgedRow> rows = judge_table(table, machine->second, worst);
    if (rows.empty())
      report.not_predicted[fmt::format("no form for {} of {}", table.table, table.family)] +=
          static_cast<std::int64_t>(table.cells.size());
    for (const JudgedRow& row : rows)
      add_row({report, table, machine->second, static_cast<std::uint16_t>(report.files.size() - 1)}, row);
  }
  summarise(report, worst);
  return report;
}

}  // namespace shardplan
