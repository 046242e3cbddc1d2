// Device memory, streams, events and captured graphs with owners.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "calibrate/cuda/check.h"

namespace shardplan::cuda {

template <class T>
class Buffer {
 public:
  explicit Buffer(std::int64_t count) : count_(count) {
    if (count > 0) check(cudaMalloc(&data_, static_cast<std::size_t>(count) * sizeof(T)), "device memory");
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(static_cast<std::int64_t>(values.size())) {
    if (count_ > 0) check(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "copy to the device");
  }
  ~Buffer() { cudaFree(data_); }
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), count_(other.count_) {}
  Buffer& operator=(Buffer&&) = delete;

  [[nodiscard]] T* get() const { return data_; }
  [[nodiscard]] std::int64_t size() const { return count_; }
  // Waits for the device.
  void copy_to(std::vector<T>& values) const {
    values.resize(static_cast<std::size_t>(count_));
    if (count_ > 0) check(cudaMemcpy(values.data(), data_, values.size() * sizeof(T), cudaMemcpyDeviceToHost), "copy from the device");
  }

 private:
  T* data_ = nullptr;
  std::int64_t count_ = 0;
};

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
  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "event"); }
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
    work();
    check(cudaStreamEndCapture(stream, &graph_), "capture");
    check(cudaGraphInstantiate(&executable_, graph_, 0), "graph");
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
