// The object `request` of a document: the flags that were given, so that the question can be asked again.
#pragma once

#include <string>

#include "tools/cli/command_line.h"
#include "tools/documents/document.h"
#include "tools/request/request_flags.h"

namespace shardplan {

// Keys are the flags' names ("tpot_ms"), values their numbers or text; a switch is true.
[[nodiscard]] Document request_document(const RequestFlags& flags);

// The words of a command line that asks what the plan document in `file` was asked. InputError for a file that is no
// plan document, or whose request holds what no flag takes.
[[nodiscard]] Words read_request_words(const std::string& file);

}  // namespace shardplan
