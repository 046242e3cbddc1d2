#include "tools/documents/deployment_document.h"

#include <nlohmann/json.hpp>

#include "tools/documents/memory_document.h"
#include "tools/documents/parallel_document.h"
#include "tools/documents/serving_document.h"
#include "tools/documents/violations_document.h"

namespace shardplan {

Document deployment_document(const Plan& plan) {
  return {{"layout", short_text(plan.config)},
          {"parallel", parallel_document(plan.config)},
          {"gpus", plan.config.gpus()},
          {"device_order", name_of(plan.order)},
          {"layer_split", plan.layer_split},
          {"max_batched_tokens", plan.max_batched_tokens},
          {"max_num_seqs", plan.max_num_sequences},
          {"warnings", violations_document(plan.warnings)},
          {"memory", memory_document(plan.ledger)},
          {"serving", serving_document(plan.serving)}};
}

}  // namespace shardplan
