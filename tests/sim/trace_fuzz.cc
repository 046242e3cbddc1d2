// Any bytes are a trace whose requests come in order and within bounds, or an InputError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/errors.h"
#include "sim/workloads/trace.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const shardplan::MemoryFile file(std::string_view(reinterpret_cast<const char*>(data), size));
  try {
    const auto trace = shardplan::open_trace(file.path());
    shardplan::RequestSpec request;
    shardplan::SimTime last;
    while (trace->next(request)) {
      if (request.prompt_tokens < 1 || request.output_tokens < 1 || request.arrival < last) std::abort();
      last = request.arrival;
    }
  } catch (const shardplan::InputError&) {  // the expected refusal
  }
  return 0;
}
