#include "calibrate/cuda/nccl_mover.h"

#include <chrono>
#include <cstring>
#include <thread>

#include "calibrate/byte_stream.h"
#include "calibrate/cuda/nccl_ranks.h"

namespace shardplan::cuda {
namespace {

using Clock = std::chrono::steady_clock;

// Until the stream is done; an error of the communicator is thrown, a rank that does not answer too.
void wait_for(cudaStream_t stream, ncclComm_t communicator, const std::string& whom, Transport::Milliseconds timeout) {
  const auto start = Clock::now();
  while (true) {
    const cudaError_t status = cudaStreamQuery(stream);
    if (status == cudaSuccess) return;
    if (status != cudaErrorNotReady) check(status, "waiting for a message");
    ncclResult_t state = ncclSuccess;
    check(ncclCommGetAsyncError(communicator, &state), "communicator");
    if (state != ncclInProgress) check(state, "a rank was lost");
    if (Clock::now() - start > timeout)
      throw EnvironmentError("waited " + std::to_string(timeout.count()) + " ms for numbers of " + whom);
    std::this_thread::yield();
  }
}

}  // namespace

NcclMover::NcclMover(int) : whole_(true) {}

NcclMover::End NcclMover::open_end(int device, const std::string& id, int place) const {
  ncclUniqueId unique;
  if (id.size() != sizeof unique) throw EnvironmentError("NCCL: an id of another library version");
  std::memcpy(&unique, id.data(), sizeof unique);
  check(cudaSetDevice(device), "device");
  End end{device, nullptr, std::make_unique<OwnedStream>(), {}};
  check(ncclCommInitRank(&end.communicator, 2, unique, place), "communicator of a pair");
  return end;
}

// Every process opens its pairs in the order of all of them, so that two never wait for each other.
NcclMover::NcclMover(int rank, int device, Transport& transport, Transport::Milliseconds timeout)
    : whole_(false), device_(device) {
  ByteWriter out;
  const int ranks = transport.ranks();
  for (int to = 0; to < ranks; ++to) out.text(NcclRanks::unique_id());
  std::vector<std::vector<std::string>> ids;
  for (const std::string& text : transport.share(out.take(), timeout)) {
    ByteReader in(text);
    auto& of_sender = ids.emplace_back();
    for (int to = 0; to < ranks; ++to) of_sender.push_back(in.text());
  }
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from == to || (from != rank && to != rank)) continue;
      auto& made = pairs_[{from, to}];
      made = std::make_unique<Pair>();
      const std::string& id = ids[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
      (from == rank ? made->sender : made->receiver) = open_end(device, id, from == rank ? 0 : 1);
    }
  }
}

NcclMover::~NcclMover() {
  for (const auto& [ranks, pair] : pairs_) {
    for (const End* end : {&pair->sender, &pair->receiver}) {
      if (end->communicator != nullptr) ncclCommAbort(end->communicator);
    }
  }
}

NcclMover::Pair& NcclMover::pair(int from, int to) {
  const std::lock_guard lock(mutex_);
  auto& made = pairs_[{from, to}];
  if (made != nullptr) return *made;
  ensure(whole_, "a pair of other processes");
  auto fresh = std::make_unique<Pair>();
  const std::string id = NcclRanks::unique_id();
  check(ncclGroupStart(), "group");
  fresh->sender = open_end(from, id, 0);
  fresh->receiver = open_end(to, id, 1);
  check(ncclGroupEnd(), "group");
  made = std::move(fresh);
  return *made;
}

void NcclMover::send(int from, int to, const std::vector<float>& values) {
  End& end = pair(from, to).sender;
  check(cudaSetDevice(end.device), "device");
  if (cudaStreamQuery(end.stream->get()) == cudaSuccess) end.in_flight.clear();
  end.in_flight.emplace_back(values);
  check(ncclSend(end.in_flight.back().get(), values.size(), ncclFloat, 1, end.communicator, end.stream->get()), "send");
}

std::vector<float> NcclMover::receive(int from, int to, std::size_t count, Transport::Milliseconds timeout) {
  End& end = pair(from, to).receiver;
  check(cudaSetDevice(end.device), "device");
  const Buffer<float> buffer(static_cast<std::int64_t>(count));
  check(ncclRecv(buffer.get(), count, ncclFloat, 0, end.communicator, end.stream->get()), "receive");
  wait_for(end.stream->get(), end.communicator, "rank " + std::to_string(from), timeout);
  std::vector<float> values;
  buffer.copy_to(values);
  return values;
}

}  // namespace shardplan::cuda
