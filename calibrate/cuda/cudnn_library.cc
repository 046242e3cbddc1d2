#include "calibrate/cuda/cudnn_library.h"

#include <dlfcn.h>

#include <array>

namespace shardplan::cuda {
namespace {

constexpr const char* kName = "libcudnn.so.9";
constexpr std::size_t kLeastVersion = 91300;  // the first that has attention as one operation

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

std::string text_of(std::size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace

std::string load_cudnn(const char* name, CudnnLibrary& out) {
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::string("cannot load ") + name;
  const bool whole =
      find(library, "cudnnGetVersion", out.version) && find(library, "cudnnGetLastErrorString", out.last_error) &&
      find(library, "cudnnCreate", out.create) && find(library, "cudnnDestroy", out.destroy) &&
      find(library, "cudnnSetStream", out.set_stream) &&
      find(library, "cudnnBackendCreateDescriptor", out.create_descriptor) &&
      find(library, "cudnnBackendDestroyDescriptor", out.destroy_descriptor) &&
      find(library, "cudnnBackendSetAttribute", out.set_attribute) &&
      find(library, "cudnnBackendGetAttribute", out.get_attribute) &&
      find(library, "cudnnBackendFinalize", out.finalize) && find(library, "cudnnBackendExecute", out.execute);
  if (!whole) return std::string(name) + " lacks the backend interface";
  const std::size_t version = out.version();
  if (version < kLeastVersion) return "cuDNN " + text_of(version) + " is older than " + text_of(kLeastVersion);
  return "";
}

void CudnnLibrary::check(cudnnStatus_t status, const char* what) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 512> words{};
  last_error(words.data(), words.size());
  throw CudnnError(std::string("cuDNN: ") + what + ": status " + std::to_string(static_cast<int>(status)) +
                   (words[0] != '\0' ? std::string(", ") + words.data() : ""));
}

std::string CudnnLibrary::version_text() const { return text_of(version()); }

const CudnnLibrary* cudnn_library(std::string* why) {
  static CudnnLibrary library;
  static const std::string missing = load_cudnn(kName, library);
  if (why != nullptr) *why = missing;
  return missing.empty() ? &library : nullptr;
}

}  // namespace shardplan::cuda
