#include "calibrate/device_module.h"

#include <dlfcn.h>

#include <filesystem>

#include "base/errors.h"

namespace shardplan {

std::shared_ptr<DeviceBackend> load_device(const std::string& module) {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / module;
  if (!std::filesystem::exists(path, error)) throw EnvironmentError("no " + module + " beside the program: it was built without CUDA");
  // Never unloaded: the backend's code is in it.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw EnvironmentError(std::string("cannot load ") + module + ": " + dlerror());
  const auto open = reinterpret_cast<OpenDeviceFunction>(dlsym(handle, kOpenDeviceSymbol));
  ensure(open != nullptr, "a device module without its symbol");
  return std::shared_ptr<DeviceBackend>(open());
}

}  // namespace shardplan
