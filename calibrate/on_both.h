// Functions that the device's kernels and the host share, so that tests on the host run what the device runs.
#pragma once

#ifdef __CUDACC__
#define SHARDPLAN_ON_BOTH __host__ __device__
#else
#define SHARDPLAN_ON_BOTH
#endif
