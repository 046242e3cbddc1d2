// The objects `prefill` and `decode` of a document: one step and what it consists of.
//
// Times, bytes and FLOPs of an operation or a collective are of one; a step has `count` of them.
#pragma once

#include "costmodel/step_price.h"
#include "tools/documents/document.h"

namespace shardplan {

// null for a step that holds no tokens.
[[nodiscard]] Document step_document(const StepBreakdown& step, bool intervals);

}  // namespace shardplan
