// NCCL over the devices of this process, or over one device of each process; bytes that leave a rank are counted.
//
// In one process every call is made for all devices inside a group, so that no device waits for a call that has not come.
// All-to-all is grouped sends and receives.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/cuda/memory.h"

namespace shardplan::cuda {

class NcclRanks {
 public:
  // One process for `devices` GPUs.
  explicit NcclRanks(int devices);
  // Rank `rank` of `ranks` on `device`; `id` is the bytes that unique_id() gave on rank 0.
  NcclRanks(int rank, int ranks, int device, const std::string& id);
  ~NcclRanks();
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;

  [[nodiscard]] static std::string unique_id();
  [[nodiscard]] static std::string version();
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int local() const { return static_cast<int>(members_.size()); }
  [[nodiscard]] cudaStream_t stream(int local) const { return members_[static_cast<std::size_t>(local)].stream->get(); }
  [[nodiscard]] double sent_bytes() const { return sent_bytes_; }   // by one rank so far, as a ring or pairwise exchange sends them

  // `count` bf16 elements; buffers per local rank. all_gather, reduce_scatter and all_to_all: `count` is one rank's part.
  void all_reduce(const std::vector<void*>& buffers, std::int64_t count);
  void all_gather(const std::vector<void*>& parts, const std::vector<void*>& whole, std::int64_t count);
  void reduce_scatter(const std::vector<void*>& whole, const std::vector<void*>& parts, std::int64_t count);
  void all_to_all(const std::vector<void*>& from, const std::vector<void*>& to, std::int64_t count);
  // To the next rank, from the one before.
  void send_receive(const std::vector<void*>& from, const std::vector<void*>& to, std::int64_t count);
  // On every local device; an asynchronous error of a communicator (a lost rank) is thrown.
  void wait();

 private:
  struct Member {
    int device = 0;
    int rank = 0;
    ncclComm_t communicator = nullptr;
    std::unique_ptr<OwnedStream> stream;
  };
  void grouped(const std::function<void(const Member&, std::size_t)>& call);

  int ranks_;
  std::vector<Member> members_;
  double sent_bytes_ = 0;
};

}  // namespace shardplan::cuda
