#include "tools/documents/memory_document.h"

#include <nlohmann/json.hpp>

namespace shardplan {
namespace {

Document items_document(const std::vector<LedgerItem>& items) {
  Document document = Document::array();
  for (const LedgerItem& item : items) document.push_back({{"owner", item.owner}, {"bytes", item.bytes.value()}});
  return document;
}

Document stage_document(const StageLedger& stage) {
  const Bytes held = stage.weights_bytes + stage.activation_bytes + stage.workspace_bytes;
  return {{"first_layer", stage.layers.first},
          {"layers", stage.layers.count},
          {"weights_bytes", stage.weights_bytes.value()},
          {"kv_bytes", stage.kv_pool_bytes.value()},
          {"activation_bytes", stage.activation_bytes.value()},
          {"workspace_bytes", stage.workspace_bytes.value()},
          {"total_bytes", (held + stage.kv_pool_bytes).value()},
          {"missing_bytes", stage.missing_bytes.value()},
          {"kv_bytes_per_token", stage.kv_bytes_per_token},
          {"weights", items_document(stage.weights)},
          {"workspace", items_document(stage.workspace)}};
}

}  // namespace

Document memory_document(const Ledger& ledger) {
  Document stages = Document::array();
  for (const StageLedger& stage : ledger.stages) stages.push_back(stage_document(stage));
  Document document = {{"fits", ledger.fits},
                       {"device_bytes", ledger.device_bytes.value()},
                       {"capacity_bytes", ledger.capacity_bytes.value()},
                       {"kv_bytes_per_token", ledger.kv_bytes_per_token},
                       {"kv_capacity_tokens", ledger.kv_capacity_tokens},
                       {"longest_request_tokens", ledger.group_capacity_tokens}};
  if (!ledger.misfit.empty()) document["misfit"] = ledger.misfit;
  if (ledger.paged()) {
    document["pages"] = {{"count", ledger.pages.pages},
                         {"groups", ledger.pages.groups()},
                         {"block_tokens", ledger.pages.block_tokens()}};
  }
  document["stages"] = std::move(stages);
  return document;
}

}  // namespace shardplan
