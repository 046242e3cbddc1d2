#include "planner/notes.h"

#include <fmt/format.h>

#include "base/units.h"
#include "planner/deployment.h"

namespace shardplan {

std::vector<std::string> notes_of(const PlanRequest& request) {
  std::vector<std::string> notes = request.model.notes;
  if (!request.hardware.calibrated) {
    notes.push_back(
        fmt::format("{} has no calibrated coefficients: times are close to the speed of light", request.hardware.name));
  }
  if (request.engine != nullptr) {
    const std::string note = version_note(*request.engine, version_of(request));
    if (!note.empty()) notes.push_back(note);
  }
  const std::int64_t context = context_of(request);
  if (request.model.max_positions > 0 && context > request.model.max_positions) {
    notes.push_back(fmt::format(
        "a context of {} tokens exceeds the model's {} positions: it needs a longer rotary scaling",
        format_count(static_cast<double>(context)), format_count(static_cast<double>(request.model.max_positions))));
  }
  if (request.workload.tokens() > context) {
    notes.push_back(fmt::format("prompt and output of {} tokens do not fit --max-model-len {}",
                                request.workload.tokens(), context));
  }
  return notes;
}

}  // namespace shardplan
