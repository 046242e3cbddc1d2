#include "tools/documents/accuracy_page.h"

#include <fmt/format.h>

#include <cctype>
#include <filesystem>

#include "tools/tables/numbers.h"

namespace shardplan {
namespace {

std::string both(const ErrorStats& e) {
  if (e.count == 0) return "-";
  return fmt::format("{:.1f} / {:.1f}", e.mean_ape * 100, e.median_ape * 100);
}

constexpr const char* kHead =
    "| {} | rows | TPOT | p90 | bias | output tokens/s/GPU | TTFT | TPOT in interval "
    "|\n|---|---|---|---|---|---|---|---|\n";

std::string line(const std::string& name, const QuantityErrors& e) {
  return fmt::format("| {} | {} | {} | {:.1f} | {:+.1f} | {} | {} | {} |\n", name, e.tpot.count, both(e.tpot),
                     e.tpot.p90_ape * 100, e.tpot.bias_median * 100, both(e.throughput), both(e.ttft),
                     e.tpot.interval_coverage ? fmt::format("{:.0f}", *e.tpot.interval_coverage * 100) : "-");
}

std::string head(const char* first) { return fmt::format(fmt::runtime(kHead), first); }

std::string rank(const char* who, const RankQuality& r) {
  return fmt::format("| {} | {} of {} | {:.2f} |\n", who, r.held, r.groups, r.throughput_ratio);
}

std::string counts(const std::string& heading, const char* of, const std::map<std::string, std::int64_t>& why) {
  if (why.empty()) return "";
  std::string out = fmt::format("\n{}\n\n| {} | why |\n|---|---|\n", heading, of);
  for (const auto& [reason, count] : why) out += fmt::format("| {} | {} |\n", count, reason);
  return out;
}

std::string serving_part(const ValidateReport& r) {
  std::string out = fmt::format(
      "Table `{}`: {} rows, {} legal, {} predicted. Errors are |predicted/measured - 1| in %, mean / median; bias is "
      "the median of\n"
      "predicted/measured - 1; the last column is the share of measurements between p10 and p90.\n\n",
      std::filesystem::path(r.file).filename().string(), r.rows.size(), r.legal, r.predicted);
  out += head("rows") + line("cache holds the concurrency", r.overall);
  if (r.apart_count > 0) out += line("cache cannot hold the concurrency", r.apart);
  if (r.peer.tpot.count > 0)
    out += line("rows that another planner predicts", r.ours_beside_peer) + line("that planner", r.peer);
  if (!r.folds.empty()) {
    out +=
        "\n## Fitted on other rows\n\nEngine times fitted without the rows that are scored; rows whose cache cannot "
        "hold the concurrency are left out.\n\n" +
        head("fitted on");
    for (const FoldLine& f : r.folds) {
      out += line(f.name, f.errors);
      if (f.seen.tpot.count > 0 && f.unseen.tpot.count > 0)
        out += line("- kernels seen in the fit", f.seen) + line("- kernels not seen", f.unseen);
    }
  }
  out +=
      "\n## Choice of a configuration\n\nOf each workload group (model, machine, engine, precision, lengths) the row "
      "predicted to give most\n"
      "throughput within a TPOT target that half of its rows keep.\n\n| who | holds the target | share of the best "
      "throughput where held |\n|---|---|---|\n";
  out += rank("the pick", r.rank) + rank("the pick with `--confidence 0.8`", r.careful_rank) + rank("another planner's", r.peer_rank);
  std::string by;
  for (const GroupErrors& g : r.groups) {
    if (by != g.by) out += fmt::format("\n## By {}\n\n", g.by) + head(g.by.c_str());
    by = g.by;
    out += line(g.name.empty() ? "-" : g.name, g.errors);
  }
  return out + counts("## Not predicted", "rows", refusals_of(r.priced));
}

std::string point_line(const std::string& name, const ErrorStats& e, const std::string& more = "") {
  const std::string inside = e.interval_coverage ? fmt::format("{:.0f}", *e.interval_coverage * 100) : "-";
  return fmt::format("| {} | {} | {} | {:.1f} | {:+.1f} | {} |{}\n", name, e.count, both(e), e.p90_ape * 100,
                     e.bias_median * 100, inside, more);
}

std::string point_head(const std::string& first, const char* more = "") {
  std::string rule = "|---|---|---|---|---|---|";
  if (*more != 0) rule += "---|";
  return fmt::format("| {} | points | error | p90 | bias | in interval |{}\n{}\n", first, more, rule);
}

// What a fit said of shapes that it did not see, beside what its row says of all.
std::string held_out_of(const PointReport& r, const std::string& row) {
  for (const HeldOutRow& h : r.held_out) {
    if (h.name == row && h.median > 0) return fmt::format(" {:.1f} / {:.1f} |", h.mean * 100, h.median * 100);
  }
  return " - |";
}

std::string points_part(const PointReport& r) {
  std::string title = r.kind;
  title.front() = static_cast<char>(std::toupper(title.front()));
  std::string out = fmt::format("\n# {}\n\n{}, {}, {} predicted.\n\n", title, counted(std::ssize(r.files), "file"),
                                counted(measured_points(r), "point"), whole(r.overall.count + r.apart.count));
  for (const std::string& note : r.notes) out += note + "\n\n";
  out += point_head("points") + point_line("all", r.overall);
  if (r.apart.count > 0) out += point_line(r.apart_name, r.apart);
  std::string by;
  for (const PointGroup& g : r.groups) {
    const bool rows = g.by == "row";
    if (by != g.by) out += fmt::format("\n## {}: by {}\n\n", title, g.by) + point_head(g.by, rows ? " held out |" : "");
    by = g.by;
    out += point_line(g.name, g.errors, rows ? held_out_of(r, g.name) : "");
  }
  return out + counts("## " + title + ": left out", "points", r.left_out) +
         counts("## " + title + ": not predicted", "points", r.not_predicted);
}

}  // namespace

std::string accuracy_page(const std::vector<ValidateReport>& serving, const std::vector<PointReport>& points) {
  std::string out =
      "# Accuracy\n\nWritten by `shardplan validate --measured LIST --quality A --folds --output docs/accuracy.md`; "
      "not edited by hand.\n\n";
  for (const ValidateReport& r : serving) out += serving_part(r);
  for (const PointReport& r : points) out += points_part(r);
  return out;
}

}  // namespace shardplan
