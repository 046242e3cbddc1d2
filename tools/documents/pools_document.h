// The member `pools` of shardplan.plan/1: plans with prompts and answers on pools of their own.
#pragma once

#include "planner/disaggregation/pools.h"
#include "tools/documents/document.h"

namespace shardplan {

[[nodiscard]] Document pools_document(const PoolsResult& pools);

}  // namespace shardplan
