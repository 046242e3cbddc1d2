// cuDNN's backend interface, loaded when it is first asked for: the module runs without it.
#pragma once

#include <cudnn_graph.h>

#include <string>

#include "base/errors.h"

namespace shardplan::cuda {

class CudnnError : public EnvironmentError {
 public:
  using EnvironmentError::EnvironmentError;
};

struct CudnnLibrary {
  decltype(&cudnnGetVersion) version = nullptr;
  decltype(&cudnnGetLastErrorString) last_error = nullptr;
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnDestroy) destroy = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&cudnnBackendSetAttribute) set_attribute = nullptr;
  decltype(&cudnnBackendGetAttribute) get_attribute = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;

  // CudnnError with the library's own words.
  void check(cudnnStatus_t status, const char* what) const;
  [[nodiscard]] std::string version_text() const;  // "9.19.0"
};

// "" when everything was found in the library of that name, else why not in one line. It is never unloaded.
[[nodiscard]] std::string load_cudnn(const char* name, CudnnLibrary& out);
// nullptr where it cannot be loaded or is older than what is needed; `why` is then one line.
[[nodiscard]] const CudnnLibrary* cudnn_library(std::string* why = nullptr);

}  // namespace shardplan::cuda
