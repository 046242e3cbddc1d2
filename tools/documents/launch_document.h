// The object `launch` of a plan: the command that starts it on an engine, or why that engine cannot run it.
#pragma once

#include "planner/export/launch.h"
#include "tools/documents/document.h"

namespace shardplan {

// `files` are names; their contents are what --export writes.
[[nodiscard]] Document launch_document(const Launch& launch);

}  // namespace shardplan
