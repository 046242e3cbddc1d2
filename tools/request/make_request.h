// From flags to the planner's question: names are looked up, defaults filled in, contradictions refused.
#pragma once

#include "planner/plan.h"
#include "tools/request/request_flags.h"

namespace shardplan {

// What the flags ask, without a configuration: `fixed` holds the degrees given, 0 where none was.
// InputError for unknown names, missing --model or --hardware, and flags that contradict one another.
[[nodiscard]] PlanRequest make_request(const RequestFlags& flags);

// The bare steps asked for; `given` is false when none is. With --batch, --context is what its sequences attend to and
// --prefix what is cached before --prefill-tokens; without, --context is the latter.
[[nodiscard]] BareSteps make_bare_steps(const RequestFlags& flags);

}  // namespace shardplan
