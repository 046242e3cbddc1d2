// How a kernel is timed on a device: captured into a graph, rotating through copies of what does not stay in the cache,
// replayed behind a replay that keeps the device busy meanwhile, until the stopping rule is content.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "calibrate/cuda/blaslt_product.h"
#include "calibrate/cuda/memory.h"
#include "calibrate/device.h"

namespace shardplan::cuda {

// Of a shape; 0 when absent.
[[nodiscard]] std::int64_t field(const NodeCase& c, const char* name);

// Copies of `bytes` that together exceed the L2 of any of these devices.
[[nodiscard]] int copies_of(double bytes);

// `round` puts the work on the stream once for each of `copies`, all of which it may be asked for several times.
// Seconds are those of one copy's.
[[nodiscard]] DeviceTiming sampled(const OwnedStream& stream, int copies, const StoppingRule& rule,
                                   const std::string& note, const std::function<void()>& round);

// Random numbers, in fp32 and in the format of a product.
[[nodiscard]] Buffer<float> random_floats(std::int64_t count, std::uint64_t seed, cudaStream_t stream);
[[nodiscard]] Buffer<char> random_operand(std::int64_t count, ProductFormat format, std::uint64_t seed,
                                          cudaStream_t stream);
[[nodiscard]] std::int64_t bytes_of(ProductFormat format);

}  // namespace shardplan::cuda
