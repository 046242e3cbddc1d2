// Fitted rows into a hardware document: replaced by key, everything else as it was, written beside and renamed.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit/kernel_fit.h"

namespace shardplan {

// The text of the document `text` (of format hardware-1; `where` names it in errors) with the rows of `fits` in its "kernels".
[[nodiscard]] std::string with_rows(const std::string& text, const std::string& where, const std::vector<FitOutcome>& fits);

}  // namespace shardplan
