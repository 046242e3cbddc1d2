// Whatever the bytes, reading a hardware profile ends in a profile or an InputError.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/errors.h"
#include "hwprofiles/fabric.h"
#include "hwprofiles/profile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shardplan;
  try {
    const HardwareProfile profile = read_hardware({reinterpret_cast<const char*>(data), size}, "fuzz");
    const Fabric fabric(profile, 3);  // a profile that was read can be built
    (void)fabric.path(0, 2);
  } catch (const InputError&) {
  }
  return 0;
}
