#include "tools/tables/validate_table.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "base/table.h"
#include "tools/tables/error_cells.h"

namespace shardplan {
namespace {

std::vector<Table::Column> error_columns(const char* first) {
  return {{first, Table::Align::kLeft}, {"rows"},   {"TPOT mean"}, {"median"}, {"p90"}, {"bias"}, {"in interval"},
          {"tok/s/GPU mean"},           {"median"}, {"TTFT mean"}, {"median"}};
}

void add_errors(Table& table, const std::string& name, const QuantityErrors& e, bool interval = true) {
  const ErrorCells tpot = cells_of(e.tpot), throughput = cells_of(e.throughput), ttft = cells_of(e.ttft);
  table.add_row({name, tpot.count, tpot.mean, tpot.median, tpot.p90, tpot.bias, interval ? tpot.coverage : "",
                 throughput.mean, throughput.median, ttft.mean, ttft.median});
}

std::string rank_line(const char* who, const RankQuality& rank) {
  if (rank.groups == 0) return "";
  return fmt::format(
      "  {} holds the TPOT target in {} of {} workload groups ({:.0f} %); where it does, it reaches {:.2f} of the best "
      "measured throughput\n",
      who, rank.held, rank.groups, 100.0 * static_cast<double>(rank.held) / static_cast<double>(rank.groups),
      rank.throughput_ratio);
}

std::string worst_rows(const ValidateReport& r) {
  Table table({{"line"},
               {"row", Table::Align::kLeft},
               {"TPOT measured"},
               {"predicted"},
               {"p10"},
               {"p90"},
               {"decode step"},
               {"of it", Table::Align::kLeft}});
  for (const std::size_t i : r.worst) {
    const ServingRow& row = r.rows[i];
    const double tpot = r.judged[i].predicted.tpot;
    const double wide = std::exp(kP90 * r.judged[i].spread.tpot);
    std::string parts;
    double sum = 0;
    for (const double part : r.priced[i].steps.decode.sum) sum += part;
    for (std::size_t p = 0; p < kStepParts; ++p) {
      const double share = r.priced[i].steps.decode.sum[p] / sum;
      if (share > 0.1) parts += fmt::format("{} {:.0f} %  ", kStepPartNames[p], share * 100);
    }
    table.add_row(
        {fmt::format("{}", row.line),
         fmt::format("{} tp{} ep{} {}/{} c{}", kernel_group(row), row.tp, row.ep, row.isl, row.osl, row.concurrency),
         fmt::format("{:.2f}", *row.measured.tpot * 1e3), fmt::format("{:.2f}", tpot * 1e3),
         fmt::format("{:.2f}", tpot / wide * 1e3), fmt::format("{:.2f}", tpot * wide * 1e3),
         fmt::format("{:.2f}", sum * 1e3), parts});
  }
  return table.text(2);
}

}  // namespace

std::string validate_table(const ValidateReport& r) {
  std::string text =
      fmt::format("{}: {} rows, {} legal, {} predicted", std::filesystem::path(r.file).filename().string(),
                  r.rows.size(), r.legal, r.predicted);
  if (r.left_out > 0) text += fmt::format("; {} left out", r.left_out);
  if (r.by_simulation) text += fmt::format("; {} by simulation of their benchmark", r.simulated);
  text += "\n\nErrors in %\n";
  Table all(error_columns("rows"));
  add_errors(all, "cache holds the concurrency", r.overall);
  if (r.apart_count > 0) add_errors(all, "cache cannot", r.apart);
  if (r.analytic.tpot.count > 0) {
    add_errors(all, "holds, by the closed form", r.analytic);
    if (r.apart_count > 0) add_errors(all, "cannot, by the closed form", r.analytic_apart);
  }
  if (r.splits_protocols) {
    add_errors(all, "protocol not on record: cache holds", r.guessed);
    if (r.guessed_apart.tpot.count > 0) add_errors(all, "protocol not on record: cache cannot", r.guessed_apart);
  }
  if (r.peer.tpot.count > 0) {
    add_errors(all, "that the other planner predicts", r.ours_beside_peer);
    add_errors(all, "the other planner", r.peer, false);
  }
  text += all.text(2) + "\n" + rank_line("the pick", r.rank) + rank_line("the pick with --confidence 0.8", r.careful_rank) + rank_line("the other planner's", r.peer_rank);
  if (!r.folds.empty()) {
    Table folds(error_columns("fitted on"));
    for (const FoldLine& line : r.folds) {
      add_errors(folds, line.name, line.errors);
      if (line.seen.tpot.count > 0) add_errors(folds, "  kernels seen", line.seen);
      if (line.unseen.tpot.count > 0) add_errors(folds, "  kernels not seen", line.unseen);
    }
    text += "\n" + folds.text(2);
  }
  std::string by;
  Table groups(error_columns("group"));
  for (const GroupErrors& g : r.groups) {
    if (!by.empty() && by != g.by) groups.add_separator();
    by = g.by;
    add_errors(groups, fmt::format("{} {}", g.by, g.name), g.errors);
  }
  text +=
      "\n" + groups.text(2) + "\nLargest errors (ms; prices of a decode step before engine factors)\n" + worst_rows(r);
  for (std::size_t i = 0; i < r.rows.size(); ++i) {
    if (!r.priced[i].legal) text += fmt::format("  line {}: not predicted: {}\n", r.rows[i].line, r.priced[i].refusal);
  }
  return text;
}

}  // namespace shardplan
