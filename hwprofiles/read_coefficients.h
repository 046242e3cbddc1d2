// The fitted rows of a profile: kernel families and collectives.
#pragma once

#include "hwprofiles/profile.h"
#include "hwprofiles/sourced_object.h"

namespace shardplan {

// "kernels": {"gemm.bf16": {"fixed": "4 us", "compute_efficiency": 0.7, "memory_efficiency": 0.84, "source": "..."}}
void read_kernels(SourcedObject& root, HardwareProfile& profile);

// "collectives": {"all_reduce": {"base": "5 us", "per_rank": "1 us", "efficiency": 0.8, "half": "4 MB", "ramp": 0.5,
//                                "source": "..."}}; see CollectiveCoefficients for the form.
void read_collectives(SourcedObject& root, HardwareProfile& profile);

}  // namespace shardplan
