// Times of the engine "early": of 2023, every kernel launched from the host in decode steps too. An overlay over the
// shipped times, fitted on published static batches by `calibrate fit --serving`.
#pragma once

#include "planner/engine_times.h"

namespace shardplan {

[[nodiscard]] const EngineTimesTable& early_engine_overlay();

}  // namespace shardplan
