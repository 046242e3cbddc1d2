// The answer of `estimate` for people.
#pragma once

#include <string>

#include "tools/documents/estimate_document.h"

namespace shardplan {

[[nodiscard]] std::string estimate_table(const EstimateAnswer& answer);

// The configuration in one line, then why it is illegal, warnings and notes.
[[nodiscard]] std::string estimate_heading(const EstimateAnswer& answer);

// "  note: ..." lines; empty without notes.
[[nodiscard]] std::string notes_lines(const std::vector<std::string>& notes);

}  // namespace shardplan
