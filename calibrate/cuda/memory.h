// Device memory, streams, events and captured graphs with owners.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "calibrate/cuda/check.h"

namespace shardplan::cuda {

// The thread's device meanwhile; afterwards what it was, where its kernels and their memory are.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    check(cudaGetDevice(&before_), "device");
    check(cudaSetDevice(device), "device");
  }
  ~OnDevice() { cudaSetDevice(before_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
};

// Memory that any stream may use. To give it back waits for all that the device has to do, messages in flight included: for
// what lives as long as a measurement or a communicator.
struct ForAnyStream {
  static void allocate(void** data, std::size_t bytes) { check(cudaMalloc(data, bytes), "device memory"); }
  static void release(void* data) { cudaFree(data); }
  // A copy from pageable memory returns when the host's bytes are staged, and streams of their own do not wait for it.
  static void wait_for_copy() { check(cudaStreamSynchronize(nullptr), "copy to the device"); }
};

// Memory of the default stream, where the executor's kernels run: comes and goes in that stream's order, so that a rank that
// gives it back never waits for a message that another has yet to take.
struct ForDefaultStream {
  static void allocate(void** data, std::size_t bytes) { check(cudaMallocAsync(data, bytes, nullptr), "device memory"); }
  static void release(void* data) { cudaFreeAsync(data, nullptr); }
  static void wait_for_copy() {}
};

template <class T, class Memory = ForAnyStream>
class Buffer {
 public:
  explicit Buffer(std::int64_t count) : count_(count) {
    if (count > 0) Memory::allocate(reinterpret_cast<void**>(&data_), static_cast<std::size_t>(count) * sizeof(T));
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(static_cast<std::int64_t>(values.size())) { copy_from(values); }
  ~Buffer() {
    if (data_ != nullptr) Memory::release(data_);
  }
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), count_(other.count_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }

  [[nodiscard]] T* get() const { return data_; }
  [[nodiscard]] std::int64_t size() const { return count_; }
  // To the front; nobody may be using the buffer.
  void copy_from(const std::vector<T>& values) {
    if (values.empty()) return;
    ensure(static_cast<std::int64_t>(values.size()) <= count_, "more numbers than the buffer holds");
    check(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "copy to the device");
    Memory::wait_for_copy();
  }
  // As many as `values` holds, from the front. Waits for the default stream.
  void copy_to(std::vector<T>& values) const {
    ensure(static_cast<std::int64_t>(values.size()) <= count_, "more numbers than the buffer holds");
    if (!values.empty()) check(cudaMemcpy(values.data(), data_, values.size() * sizeof(T), cudaMemcpyDeviceToHost), "copy from the device");
  }

 private:
  T* data_ = nullptr;
  std::int64_t count_ = 0;
};

template <class T>
using KernelBuffer = Buffer<T, ForDefaultStream>;

class OwnedStream {
 public:
  OwnedStream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"); }
  ~OwnedStream() { cudaStreamDestroy(stream_); }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void wait() const { check(cudaStreamSynchronize(stream_), "waiting for the device"); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  [[nodiscard]] cudaEvent_t get() const { return event_; }
  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "event"); }
  [[nodiscard]] bool has_come() const {
    const cudaError_t status = cudaEventQuery(event_);
    if (status != cudaErrorNotReady) check(status, "event");
    return status == cudaSuccess;
  }
  [[nodiscard]] double seconds_since(const Event& start) const {
    float milliseconds = 0;
    check(cudaEventSynchronize(event_), "event");
    check(cudaEventElapsedTime(&milliseconds, start.event_, event_), "event");
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// What `work` puts on the stream, captured once and replayed: no launch cost of the host in between.
class CapturedGraph {
 public:
  template <class Work>
  CapturedGraph(cudaStream_t stream, Work work) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
    try {
      work();
    } catch (...) {   // the stream is to be of use afterwards
      cudaGraph_t broken = nullptr;
      cudaStreamEndCapture(stream, &broken);
      if (broken != nullptr) cudaGraphDestroy(broken);
      cudaGetLastError();
      throw;
    }
    check(cudaStreamEndCapture(stream, &graph_), "capture");
    const cudaError_t status = cudaGraphInstantiate(&executable_, graph_, 0);
    if (status != cudaSuccess) cudaGraphDestroy(graph_);
    check(status, "graph");
  }
  ~CapturedGraph() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
  }
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;
  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(executable_, stream), "graph"); }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace shardplan::cuda
