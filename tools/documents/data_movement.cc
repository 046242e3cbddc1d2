#include "tools/documents/data_movement.h"

#include <nlohmann/json.hpp>

namespace shardplan {
namespace {

constexpr double kTokenBytes = 4;  // an int32 id

double deployment_weights(const Plan& plan) {
  double bytes = 0;
  for (const StageLedger& stage : plan.ledger.stages) bytes += static_cast<double>(stage.weights_bytes.value());
  return bytes * static_cast<double>(plan.config.stage_ranks()) * static_cast<double>(plan.config.replicas);
}

}  // namespace

std::vector<DataMovement> data_movement(const Plan& plan, const HardwareProfile& hardware, double sequences,
                                        double prompt_tokens) {
  const std::string& link = hardware.node.pcie.kind.empty() ? "pcie" : hardware.node.pcie.kind;
  std::vector<DataMovement> rows = {{"weights", "storage", "device", "start-up", deployment_weights(plan), link, false}};
  if (prompt_tokens > 0) rows.push_back({"prompt token ids", "host", "device", "prompt", prompt_tokens * kTokenBytes, link, true});
  if (sequences > 0) {
    rows.push_back({"token ids", "host", "device", "decode step", sequences * kTokenBytes, link, true});
    rows.push_back({"sampled tokens", "device", "host", "decode step", sequences * kTokenBytes, link, true});
  }
  return rows;
}

Document movement_document(const std::vector<DataMovement>& rows) {
  Document document = Document::array();
  for (const DataMovement& row : rows) {
    document.push_back({{"what", row.what}, {"from", row.from}, {"to", row.to}, {"per", row.per}, {"bytes", row.bytes},
                        {"link", row.link}, {"critical", row.critical}});
  }
  return document;
}

}  // namespace shardplan
