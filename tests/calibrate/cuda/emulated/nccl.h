// Sends and receives of NCCL between threads: a communicator of two, whose messages wait for their receiver. As the
// library does, a first send waits until its receiver has come, unless both are in one group.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda_runtime.h"

enum ncclResult_t { ncclSuccess, ncclInvalidUsage, ncclInProgress };
enum ncclDataType_t { ncclFloat, ncclBfloat16 };
enum ncclRedOp_t { ncclSum };
struct ncclUniqueId {
  char internal[128];
};

constexpr std::chrono::seconds kPatience{5};
struct EmulatedChannel {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::vector<char>> messages;
  int receivers = 0;  // that have come
};
struct EmulatedCommunicator {
  std::shared_ptr<EmulatedChannel> channel;
  int rank = 0;
};
using ncclComm_t = EmulatedCommunicator*;

inline const char* ncclGetErrorString(ncclResult_t) { return "emulated"; }
inline ncclResult_t ncclGetVersion(int* version) {
  *version = 22800;
  return ncclSuccess;
}
inline ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int next = 0;
  std::memset(id, 0, sizeof *id);
  ++next;
  std::memcpy(id, &next, sizeof next);
  return ncclSuccess;
}
inline ncclResult_t ncclCommInitRank(ncclComm_t* made, int ranks, ncclUniqueId id, int rank) {
  static std::map<int, std::shared_ptr<EmulatedChannel>> channels;
  if (ranks != 2) return ncclInvalidUsage;
  int number = 0;
  std::memcpy(&number, &id, sizeof number);
  auto& channel = channels[number];
  if (channel == nullptr) channel = std::make_shared<EmulatedChannel>();
  *made = new EmulatedCommunicator{channel, rank};
  return ncclSuccess;
}
inline ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  delete communicator;
  return ncclSuccess;
}
inline int& emulated_group() {
  thread_local int depth = 0;
  return depth;
}
inline ncclResult_t ncclGroupStart() {
  ++emulated_group();
  return ncclSuccess;
}
inline ncclResult_t ncclGroupEnd() {
  --emulated_group();
  return ncclSuccess;
}
inline ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t, int peer, ncclComm_t communicator,
                             cudaStream_t) {
  if (peer == communicator->rank) return ncclInvalidUsage;
  EmulatedChannel& channel = *communicator->channel;
  std::unique_lock lock(channel.mutex);
  const char* bytes = static_cast<const char*>(from);
  channel.messages.emplace_back(bytes, bytes + count * sizeof(float));
  channel.changed.notify_all();
  const bool heard =
      emulated_group() > 0 || channel.changed.wait_for(lock, kPatience, [&] { return channel.receivers > 0; });
  return heard ? ncclSuccess : ncclInvalidUsage;
}
inline ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t, int peer, ncclComm_t communicator,
                             cudaStream_t) {
  if (peer == communicator->rank) return ncclInvalidUsage;
  EmulatedChannel& channel = *communicator->channel;
  std::unique_lock lock(channel.mutex);
  ++channel.receivers;
  channel.changed.notify_all();
  const bool came = channel.changed.wait_for(lock, kPatience, [&] { return !channel.messages.empty(); });
  if (!came || channel.messages.front().size() != count * sizeof(float)) return ncclInvalidUsage;
  std::memcpy(to, channel.messages.front().data(), count * sizeof(float));
  channel.messages.pop_front();
  return ncclSuccess;
}
inline ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* state) {
  *state = ncclSuccess;
  return ncclSuccess;
}

// Of all ranks at once: none here.
inline ncclResult_t ncclCommInitAll(ncclComm_t*, int, const int*) { return ncclInvalidUsage; }
inline ncclResult_t ncclCommDestroy(ncclComm_t) { return ncclSuccess; }
inline ncclResult_t ncclAllReduce(const void*, void*, std::size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                                  cudaStream_t) {
  return ncclInvalidUsage;
}
inline ncclResult_t ncclAllGather(const void*, void*, std::size_t, ncclDataType_t, ncclComm_t, cudaStream_t) {
  return ncclInvalidUsage;
}
inline ncclResult_t ncclReduceScatter(const void*, void*, std::size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                                      cudaStream_t) {
  return ncclInvalidUsage;
}
