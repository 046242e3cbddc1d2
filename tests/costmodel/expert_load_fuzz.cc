// Any text, and any file of counts, is an expert load whose shares can be taken, or an InputError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/errors.h"
#include "costmodel/expert_load.h"
#include "tests/fuzz/memory_file.h"

namespace {

void take(const std::string& text) {
  try {
    const shardplan::ExpertLoadModel model(shardplan::parse_expert_load(text), 4, 2, 2, 0);
    const double rows = model.busiest_rows(64);
    if (!(rows >= model.mean_rows(64) * (1 - 1e-9) && model.busiest_hits(64) >= 0)) std::abort();
  } catch (const shardplan::InputError&) {  // the expected refusal
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  take(std::string(text));
  const shardplan::MemoryFile file(text);
  take(file.path());
  return 0;
}
