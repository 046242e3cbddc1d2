#include "tools/tables/memory_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/table.h"
#include "base/units.h"
#include "tools/tables/numbers.h"

namespace shardplan {
namespace {

using Align = Table::Align;

// Names of all owners of weights, in order of first appearance.
std::vector<std::string> owners_of(const Ledger& ledger) {
  std::vector<std::string> owners;
  for (const StageLedger& stage : ledger.stages) {
    for (const LedgerItem& item : stage.weights) {
      if (std::find(owners.begin(), owners.end(), item.owner) == owners.end()) owners.push_back(item.owner);
    }
  }
  return owners;
}

std::string owned(const StageLedger& stage, const std::string& owner) {
  Bytes bytes;
  for (const LedgerItem& item : stage.weights) {
    if (item.owner == owner) bytes += item.bytes;
  }
  return in_gib(bytes);
}

std::vector<std::string> cells_of(const StageLedger& stage, const std::vector<std::string>& owners) {
  std::vector<std::string> cells;
  for (const std::string& owner : owners) cells.push_back(owned(stage, owner));
  for (const Bytes bytes : {stage.weights_bytes, stage.activation_bytes, stage.workspace_bytes, stage.kv_pool_bytes}) {
    cells.push_back(in_gib(bytes));
  }
  cells.push_back(stage.missing_bytes > Bytes(0) ? in_gib(stage.missing_bytes) : "");
  return cells;
}

// Neighbouring stages with the same cells share a row.
void add_stages(Table& table, const Ledger& ledger, const std::vector<std::string>& owners) {
  const auto& stages = ledger.stages;
  for (std::size_t s = 0; s < stages.size();) {
    const auto cells = cells_of(stages[s], owners);
    std::size_t next = s + 1;
    while (next < stages.size() && cells_of(stages[next], owners) == cells) ++next;
    const StageLayers& last = stages[next - 1].layers;
    std::vector<std::string> row = {next == s + 1 ? std::to_string(s) : fmt::format("{}-{}", s, next - 1),
                                    fmt::format("{}-{}", stages[s].layers.first, last.first + last.count - 1)};
    row.insert(row.end(), cells.begin(), cells.end());
    table.add_row(std::move(row));
    s = next;
  }
}

std::string cache_line(const Ledger& ledger, std::int64_t request_tokens) {
  return fmt::format("Cache: {} per token and rank; an instance holds {} requests of {} tokens ({} in all), or one of {}.\n",
                     format_bytes(Bytes(static_cast<std::int64_t>(ledger.kv_bytes_per_token))),
                     whole(ledger.request_capacity(request_tokens)), whole(request_tokens),
                     whole(ledger.kv_capacity_tokens), whole(ledger.group_capacity_tokens));
}

}  // namespace

std::string memory_table(const Plan& plan, std::int64_t request_tokens) {
  const Ledger& ledger = plan.ledger;
  const std::vector<std::string> owners = owners_of(ledger);
  std::vector<Table::Column> columns = {{"stage", Align::kLeft}, {"layers", Align::kLeft}};
  for (const std::string& owner : owners) columns.push_back({owner});
  for (const char* title : {"= weights", "activations", "workspace", "cache pool", "missing"}) columns.push_back({title});
  Table table(std::move(columns));
  add_stages(table, ledger, owners);
  std::string text = fmt::format("Memory of one rank in GiB: {} of {} may be used\n", in_gib(ledger.capacity_bytes), in_gib(ledger.device_bytes));
  text += table.text(2) + "  " + cache_line(ledger, request_tokens);
  if (!ledger.fits) text += "  Does not fit: " + ledger.misfit + "\n";
  return text;
}

}  // namespace shardplan
