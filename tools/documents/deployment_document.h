// What every planned deployment of a document says: its layout, how it runs, what it holds and what it serves.
#pragma once

#include "planner/plan.h"
#include "tools/documents/document.h"

namespace shardplan {

[[nodiscard]] Document deployment_document(const Plan& plan);

}  // namespace shardplan
