// The object `memory` of a document: what one rank of each stage holds, and how much cache that leaves.
#pragma once

#include "costmodel/ledger.h"
#include "tools/documents/document.h"

namespace shardplan {

[[nodiscard]] Document memory_document(const Ledger& ledger);

}  // namespace shardplan
