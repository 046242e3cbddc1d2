#include "tools/documents/step_document.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/documents/serving_document.h"

namespace shardplan {
namespace {

// Kernels' own fits alone; what the engine adds is in the serving prediction.
double spread_of(const StepTime& time) {
  double variance = 0;
  for (std::size_t i = 0; i < kStepParts; ++i) variance += std::pow(kKernelDeviation[i] * time.parts[i], 2);
  return time.seconds.value() > 0 ? std::sqrt(variance) / time.seconds.value() : 0;
}

Document time_document(const StepTime& time, bool interval) {
  Document out = {{"seconds", time.seconds.value()},
          {"compute_seconds", time.compute.value()},
          {"communication_seconds", time.communication.value()},
          {"exposed_communication_seconds", time.exposed_communication.value()},
          {"overhead_seconds", time.overhead.value()},
          {"wait_seconds", time.wait.value()}};
  if (interval) add_interval(out, "seconds", spread_of(time));
  return out;
}

Document op_document(const OpRow& op) {
  return {{"name", op.name}, {"count", op.count}, {"flops", op.flops.value()}, {"bytes", op.bytes},
          {"kv_bytes", op.kv_bytes}, {"seconds", op.time.value()}, {"bound", op.bound}};
}

Document collective_document(const CollectiveRow& row) {
  return {{"name", row.name},
          {"kind", row.kind},
          {"algorithm", row.algorithm},
          {"group_size", row.group_size},
          {"count", row.count},
          {"message_bytes", row.message_bytes},
          {"sent_bytes_per_rank", row.sent_bytes_per_rank},
          {"lse_bytes", row.lse_bytes},
          {"seconds", row.time.value()}};
}

}  // namespace

Document step_document(const StepBreakdown& step, bool intervals) {
  if (step.ops.empty()) return nullptr;
  Document document = time_document(step.time, intervals);
  if (step.drops) document["drops"] = drops_document(*step.drops);
  document["stages"] = Document::array();
  for (const StepTime& stage : step.stages) document["stages"].push_back(time_document(stage, intervals));
  document["ops"] = Document::array();
  for (const OpRow& op : step.ops) document["ops"].push_back(op_document(op));
  document["collectives"] = Document::array();
  for (const CollectiveRow& row : step.collectives) document["collectives"].push_back(collective_document(row));
  return document;
}

}  // namespace shardplan
