// A plan of a plan document as the words of a command line: its question and its layout, to be estimated or simulated.
#pragma once

#include <cstdint>

#include "tools/cli/command_line.h"

namespace shardplan {

// "--plan FILE" and "--rank N" of a command, for its --help; their words are gone when it is parsed.
[[nodiscard]] FlagGroup plan_source_flags();

// `words` with "--plan FILE [--rank N]" replaced by what the document asked, plan N's layout and step budget and, without
// traffic, the load that it was ranked at; what else is in `words` goes before. Unchanged without --plan. InputError for
// --rank alone, a file that is no plan document, or a rank that is not in it.
[[nodiscard]] Words with_plan(const Words& words);

}  // namespace shardplan
