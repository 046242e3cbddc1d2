// As much of the CUDA runtime as the backend's kernels and buffers call, on the host: one device, whose memory is the
// host's and holds NaN until it is written.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

enum cudaError_t { cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorNotReady = 600 };
struct CUstream_st;
using cudaStream_t = CUstream_st*;
struct EmulatedEvent;
using cudaEvent_t = EmulatedEvent*;
struct EmulatedGraph;
using cudaGraph_t = EmulatedGraph*;
struct EmulatedGraphExec;
using cudaGraphExec_t = EmulatedGraphExec*;
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
constexpr unsigned cudaStreamNonBlocking = 1;
enum cudaDataType_t { CUDA_R_32F, CUDA_R_16BF, CUDA_R_8F_E4M3 };

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

constexpr std::size_t kFence = 256;
constexpr std::size_t kMostPoisoned = 1 << 20;  // of an allocation: workspaces are large, and nobody reads them

inline const char* cudaGetErrorString(cudaError_t) { return "emulated"; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 4;
  return cudaSuccess;
}
// Before the memory its size, behind it NaN that nobody may write.
inline cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  char* whole = static_cast<char*>(std::aligned_alloc(kFence, (bytes + 3 * kFence - 1) / kFence * kFence));
  std::memcpy(whole, &bytes, sizeof bytes);
  *data = whole + kFence;
  std::memset(*data, 0xFF, bytes < kMostPoisoned ? bytes : kMostPoisoned);
  std::memset(whole + kFence + bytes, 0xFF, kFence);
  return cudaSuccess;
}
inline cudaError_t cudaMallocAsync(void** data, std::size_t bytes, cudaStream_t) { return cudaMalloc(data, bytes); }
inline cudaError_t cudaFree(void* data) {
  char* whole = static_cast<char*>(data) - kFence;
  std::size_t bytes = 0;
  std::memcpy(&bytes, whole, sizeof bytes);
  for (std::size_t i = 0; i < kFence; ++i) {
    if (whole[kFence + bytes + i] != static_cast<char>(0xFF)) {
      std::fputs("a kernel wrote beyond its buffer\n", stderr);
      std::abort();
    }
  }
  std::free(whole);
  return cudaSuccess;
}
inline cudaError_t cudaFreeAsync(void* data, cudaStream_t) { return cudaFree(data); }
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                std::size_t width, std::size_t height, cudaMemcpyKind) {
  for (std::size_t row = 0; row < height; ++row)
    std::memcpy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width);
  return cudaSuccess;
}
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel, cudaFuncAttribute, int bytes) {
  return bytes <= 160 * 1024 ? cudaSuccess : cudaErrorNotReady;
}

// Everything is done at once: a captured graph has run when it was captured, and every stretch of time is as long.
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 1;
  return cudaSuccess;
}
inline cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) { return cudaSuccess; }
inline cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  *graph = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t, unsigned long long) {
  *executable = nullptr;
  return cudaSuccess;
}
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaGraphDestroy(cudaGraph_t) { return cudaSuccess; }
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) { return cudaSuccess; }
// No bus that a driver's own libraries would know, where this machine has one.
inline cudaError_t cudaDeviceGetPCIBusId(char* id, int, int) {
  *id = '\0';
  return cudaSuccess;
}
