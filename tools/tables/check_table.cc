#include "tools/tables/check_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/table.h"
#include "tools/tables/numbers.h"

namespace shardplan {
namespace {

using Align = Table::Align;

std::string share(double held, double ledger) { return ledger > 0 ? fmt::format("{:.2f}", held / ledger) : "-"; }

std::string verdict(const CheckRow& row) {
  if (!row.refusal.empty()) return "refused: " + row.refusal;
  return row.holds() ? "holds" : "BROKEN";
}

std::vector<std::string> cells(const CheckRow& row) {
  const bool ran = row.refusal.empty() && row.proof.values.values > 0;   // else refused, or a rank failed before
  const auto when_run = [&](std::string text) { return ran ? std::move(text) : std::string("-"); };
  return {row.model, row.lowering, short_text(row.config), std::to_string(row.config.instance_gpus()),
          when_run(fmt::format("{:.1e}", row.proof.values.worst_error_ratio)), when_run(fmt::format("{:.2f}", row.proof.values.worst_share_ratio)), when_run(in_kib(row.proof.moved_bytes)),
          when_run(share(row.held.weights, row.ledger.weights)), when_run(share(row.held.cache, row.ledger.cache)),
          when_run(share(row.held.activations, row.ledger.activations)), when_run(fmt::format("{:.3f}", row.measured_seconds * 1e3)),
          row.predicted_seconds ? fmt::format("{:.3f}", *row.predicted_seconds * 1e3) : "-", verdict(row)};
}

}  // namespace

std::string check_table(const CheckAnswer& answer) {
  Table table({{"model", Align::kLeft}, {"lowering", Align::kLeft}, {"configuration", Align::kLeft}, {"ranks"}, {"worst error"}, {"of allowed"}, {"moved KiB"},
               {"weights"}, {"cache"}, {"activations"}, {"step ms"}, {"priced ms"}, {"verdict", Align::kLeft}});
  std::string faults;
  for (const CheckRow& row : answer.rows) {
    table.add_row(cells(row));
    for (const std::string& fault : row.faults) faults += fmt::format("  {} {}: {}\n", row.model, short_text(row.config), fault);
  }
  const auto bad = std::count_if(answer.rows.begin(), answer.rows.end(), [](const CheckRow& row) { return !row.holds(); });
  std::string text = fmt::format("Backend {}, {} storage, up to {} ranks{}{}.\n", answer.backend, answer.storage, answer.ranks,
                                 answer.processes > 1 ? fmt::format(" in {} processes", answer.processes) : "",
                                 answer.backend != "cuda" ? "" : answer.messages_between_devices ? ", messages over NCCL" : ", messages through the host, as ranks share a device");
  text += "Worst error: of any value on any rank, over the largest of its tensor; of allowed: the worst share of what other roundings of\n"
          "the unsharded run make of a tensor. Weights, cache, activations: bytes on the fullest rank over the ledger's (1.00 but for\n"
          "activations, whose peak is a bound, and windows that are striped over ranks).\n\n";
  text += table.text();
  std::int64_t unheld = 0;
  for (const CheckRow& row : answer.rows) unheld += row.proof.values.unheld;
  if (unheld > 0) text += fmt::format("\n{} values are held to be finite alone: other roundings change their tensors by more than half. fp32 holds them.\n", unheld);
  text += faults.empty() ? "" : "\nWhat does not hold:\n" + faults;
  return text + fmt::format("\n{} rows, {} broken\n", answer.rows.size(), bad);
}

}  // namespace shardplan
