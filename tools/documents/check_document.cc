#include "tools/documents/check_document.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/documents/document.h"
#include "tools/documents/parallel_document.h"

namespace shardplan {
namespace {

Document held_document(const HeldBytes& held) {
  return {{"weights_bytes", held.weights}, {"cache_bytes", held.cache}, {"activation_bytes", held.activations}};
}

Document row_document(const CheckRow& row) {
  Document document = {{"model", row.model}, {"lowering", row.lowering}, {"parallel", parallel_document(row.config)},
                       {"ranks", row.config.instance_gpus()}};
  document["verdict"] = !row.refusal.empty() ? "refused" : row.holds() ? "holds" : "broken";
  document["refusal"] = row.refusal.empty() ? Document() : Document(row.refusal);
  document["faults"] = row.faults;
  const Comparison& values = row.proof.values;
  // Infinite where a number was not finite.
  const bool finite = values.worst_error_ratio < 1e300;
  document["values"] = {{"compared", values.values + values.partials - values.unheld}, {"unheld", values.unheld}, {"worst_error_ratio", finite ? Document(values.worst_error_ratio) : Document()},
                        {"worst_share_ratio", finite ? Document(values.worst_share_ratio) : Document()}, {"worst_tensor", values.worst_tensor}};
  document["traffic"] = {{"moved_bytes", row.proof.moved_bytes}, {"checks", row.proof.bytes.checks}, {"mismatches", row.proof.bytes.mismatches.size()}};
  document["memory"] = {{"held", held_document(row.held)}, {"ledger", held_document(row.ledger)}};
  document["step"] = {{"measured_seconds", row.measured_seconds},
                      {"predicted_seconds", row.predicted_seconds ? Document(*row.predicted_seconds) : Document()}};
  return document;
}

}  // namespace

std::string check_document(const CheckAnswer& answer) {
  Document document = {{"schema", "shardplan.calibrate-check/1"}, {"backend", answer.backend}, {"storage", answer.storage}, {"ranks", answer.ranks},
                       {"processes", answer.processes},
                       {"messages", answer.messages_between_devices ? "nccl" : "host"}};
  const auto count = [&](auto has) { return std::count_if(answer.rows.begin(), answer.rows.end(), has); };
  document["broken"] = count([](const CheckRow& row) { return !row.holds(); });
  document["refused"] = count([](const CheckRow& row) { return !row.refusal.empty(); });
  document["rows"] = Document::array();
  for (const CheckRow& row : answer.rows) document["rows"].push_back(row_document(row));
  document["run"] = run_document();
  return text_of(document);
}

}  // namespace shardplan
