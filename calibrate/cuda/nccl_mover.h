// Numbers from device to device over NCCL's send and receive: a communicator of two for each ordered pair of ranks, so
// that no pair waits behind another and the two directions of one never wait for each other. All are opened, and have
// exchanged a number, before the first message: opening allocates, and a first send waits until its receiver comes.
// Buffers of messages grow and stay: giving memory back would wait for every message of the device.
//
// Rank r of one process is on device r; with a process for each rank on the process's own device.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "calibrate/cuda/memory.h"
#include "calibrate/payload_transport.h"

namespace shardplan::cuda {

class NcclMover : public PayloadMover {
 public:
  // All ranks are this process's.
  explicit NcclMover(int ranks);
  // Rank `rank` alone is; every process calls this at once, and ids are shared over `transport`.
  NcclMover(int rank, int device, Transport& transport, Transport::Milliseconds timeout);
  ~NcclMover() override;
  NcclMover(const NcclMover&) = delete;
  NcclMover& operator=(const NcclMover&) = delete;

  void send(int from, int to, const std::vector<float>& values) override;
  std::vector<float> receive(int from, int to, std::size_t count, Transport::Milliseconds timeout) override;
  void renew(Transport& envelopes) override;

 private:
  struct Outgoing {
    Buffer<float> values;
    std::unique_ptr<Event> sent;
  };
  struct End {  // one rank's of a pair
    int device = 0;
    ncclComm_t communicator = nullptr;
    std::unique_ptr<OwnedStream> stream;
    std::vector<Outgoing> outgoing;       // of earlier messages, taken again when theirs is sent
    std::vector<Buffer<float>> incoming;  // the last one is taken, those before were too small
  };
  struct Pair {
    End sender;
    End receiver;
  };
  Pair& pair(int from, int to) const;
  void open_whole();
  void open_own(Transport& transport);
  void close_all();
  // In place: inside a group NCCL writes the communicator when the group ends.
  static void open_end(End& end, int device, const std::string& id, int place);
  static void send_first(End& end);
  static void receive_first(End& end);
  static Outgoing& free_buffer(End& end, std::size_t count);

  bool whole_;     // all ranks are here
  int ranks_ = 0;  // where they are
  int rank_ = 0;
  int device_ = 0;
  Transport::Milliseconds timeout_{0};  // of opening
  std::map<std::pair<int, int>, std::unique_ptr<Pair>> pairs_;
};

}  // namespace shardplan::cuda
