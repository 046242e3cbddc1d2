#include "calibrate/cuda/nccl_ranks.h"

#include <cstring>
#include <numeric>

namespace shardplan::cuda {
namespace {

constexpr double kBf16Bytes = 2;
constexpr ncclDataType_t kType = ncclBfloat16;

char* at(void* buffer, std::int64_t element) { return static_cast<char*>(buffer) + element * static_cast<std::int64_t>(kBf16Bytes); }

}  // namespace

NcclRanks::NcclRanks(int devices) : ranks_(devices) {
  std::vector<int> list(static_cast<std::size_t>(devices));
  std::iota(list.begin(), list.end(), 0);
  std::vector<ncclComm_t> communicators(list.size());
  check(ncclCommInitAll(communicators.data(), devices, list.data()), "communicators of one process");
  for (int device = 0; device < devices; ++device) {
    check(cudaSetDevice(device), "device");
    members_.push_back({device, device, communicators[static_cast<std::size_t>(device)], std::make_unique<OwnedStream>()});
  }
}

NcclRanks::NcclRanks(int rank, int ranks, int device, const std::string& id) : ranks_(ranks) {
  ncclUniqueId unique;
  if (id.size() != sizeof unique) throw EnvironmentError("NCCL: an id of another library version");
  std::memcpy(&unique, id.data(), sizeof unique);
  check(cudaSetDevice(device), "device");
  ncclComm_t communicator = nullptr;
  check(ncclCommInitRank(&communicator, ranks, unique, rank), "communicator of a rank");
  members_.push_back({device, rank, communicator, std::make_unique<OwnedStream>()});
}

NcclRanks::~NcclRanks() {
  for (const Member& member : members_) ncclCommDestroy(member.communicator);
}

std::string NcclRanks::unique_id() {
  ncclUniqueId id;
  check(ncclGetUniqueId(&id), "id");
  return {reinterpret_cast<const char*>(&id), sizeof id};
}

std::string NcclRanks::version() {
  int version = 0;
  check(ncclGetVersion(&version), "version");
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

void NcclRanks::grouped(const std::function<void(const Member&, std::size_t)>& call) {
  check(ncclGroupStart(), "group");
  for (std::size_t i = 0; i < members_.size(); ++i) {
    check(cudaSetDevice(members_[i].device), "device");
    call(members_[i], i);
  }
  check(ncclGroupEnd(), "group");
}

void NcclRanks::all_reduce(const std::vector<void*>& buffers, std::int64_t count) {
  grouped([&](const Member& m, std::size_t i) {
    check(ncclAllReduce(buffers[i], buffers[i], static_cast<std::size_t>(count), kType, ncclSum, m.communicator, m.stream->get()), "all-reduce");
  });
  sent_bytes_ += 2.0 * (ranks_ - 1) / ranks_ * static_cast<double>(count) * kBf16Bytes;
}

void NcclRanks::all_gather(const std::vector<void*>& parts, const std::vector<void*>& whole, std::int64_t count) {
  grouped([&](const Member& m, std::size_t i) {
    check(ncclAllGather(parts[i], whole[i], static_cast<std::size_t>(count), kType, m.communicator, m.stream->get()), "all-gather");
  });
  sent_bytes_ += (ranks_ - 1) * static_cast<double>(count) * kBf16Bytes;
}

void NcclRanks::reduce_scatter(const std::vector<void*>& whole, const std::vector<void*>& parts, std::int64_t count) {
  grouped([&](const Member& m, std::size_t i) {
    check(ncclReduceScatter(whole[i], parts[i], static_cast<std::size_t>(count), kType, ncclSum, m.communicator, m.stream->get()), "reduce-scatter");
  });
  sent_bytes_ += (ranks_ - 1) * static_cast<double>(count) * kBf16Bytes;
}

void NcclRanks::all_to_all(const std::vector<void*>& from, const std::vector<void*>& to, std::int64_t count) {
  grouped([&](const Member& m, std::size_t i) {
    for (int peer = 0; peer < ranks_; ++peer) {
      check(ncclSend(at(from[i], peer * count), static_cast<std::size_t>(count), kType, peer, m.communicator, m.stream->get()), "send");
      check(ncclRecv(at(to[i], peer * count), static_cast<std::size_t>(count), kType, peer, m.communicator, m.stream->get()), "receive");
    }
  });
  sent_bytes_ += (ranks_ - 1) * static_cast<double>(count) * kBf16Bytes;
}

void NcclRanks::send_receive(const std::vector<void*>& from, const std::vector<void*>& to, std::int64_t count) {
  grouped([&](const Member& m, std::size_t i) {
    check(ncclSend(from[i], static_cast<std::size_t>(count), kType, (m.rank + 1) % ranks_, m.communicator, m.stream->get()), "send");
    check(ncclRecv(to[i], static_cast<std::size_t>(count), kType, (m.rank + ranks_ - 1) % ranks_, m.communicator, m.stream->get()), "receive");
  });
  sent_bytes_ += static_cast<double>(count) * kBf16Bytes;
}

void NcclRanks::wait() {
  for (const Member& member : members_) {
    check(cudaSetDevice(member.device), "device");
    member.stream->wait();
    ncclResult_t state = ncclSuccess;
    check(ncclCommGetAsyncError(member.communicator, &state), "communicator");
    check(state, "a rank was lost");
  }
}

}  // namespace shardplan::cuda
