// The array `violations` of a document: why a configuration cannot be built.
#pragma once

#include <vector>

#include "costmodel/lowering/registry.h"
#include "tools/documents/document.h"

namespace shardplan {

[[nodiscard]] Document violations_document(const std::vector<Violation>& violations);

}  // namespace shardplan
