// Any bytes, read as the launch files of any engine (script, YAML and manifest), give findings or an InputError.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/errors.h"
#include "models/catalog.h"
#include "planner/export/check_launch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardplan;
  static const ModelSpec model = load_model("deepseek-v3");
  static const HardwareProfile hardware = load_hardware("h200-sxm");
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const char* engine : {"vllm", "sglang", "trtllm", "rtp-llm"}) {
    for (const char* ending : {".sh", ".yaml", "-lws.yaml"}) {
      try {
        (void)check_launch({engine, require_engine(engine).default_version, model, hardware},
                           {{engine + std::string(ending), text}});
      } catch (const InputError&) {  // the expected refusal
      }
    }
  }
  return 0;
}
