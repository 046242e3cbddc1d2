// The object `parallel` of a document: degrees, and the variants that the configuration makes use of.
#pragma once

#include "costmodel/parallel_config.h"
#include "tools/documents/document.h"

namespace shardplan {

[[nodiscard]] Document parallel_document(const ParallelConfig& config);

}  // namespace shardplan
