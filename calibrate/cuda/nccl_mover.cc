#include "calibrate/cuda/nccl_mover.h"

#include <bit>
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

// Powers of two, so that there are few sizes.
std::int64_t capacity_for(std::size_t count) { return static_cast<std::int64_t>(std::bit_ceil(count)); }

}  // namespace

NcclMover::NcclMover(int) : whole_(true) {}

void NcclMover::open_end(End& end, int device, const std::string& id, int place) {
  ncclUniqueId unique;
  if (id.size() != sizeof unique) throw EnvironmentError("NCCL: an id of another library version");
  std::memcpy(&unique, id.data(), sizeof unique);
  const OnDevice on(device);
  end.device = device;
  end.stream = std::make_unique<OwnedStream>();
  check(ncclCommInitRank(&end.communicator, 2, unique, place), "communicator of a pair");
}

NcclMover::NcclMover(int rank, int device, Transport& transport, Transport::Milliseconds timeout)
    : whole_(false), rank_(rank), device_(device), timeout_(timeout) {
  open_own(transport);
}

// Every process opens its pairs in the order of all of them, so that two never wait for each other.
void NcclMover::open_own(Transport& transport) {
  ByteWriter out;
  const int ranks = transport.ranks();
  for (int to = 0; to < ranks; ++to) out.text(NcclRanks::unique_id());
  std::vector<std::vector<std::string>> ids;
  for (const std::string& text : transport.share(out.take(), timeout_)) {
    ByteReader in(text);
    auto& of_sender = ids.emplace_back();
    for (int to = 0; to < ranks; ++to) of_sender.push_back(in.text());
  }
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from == to || (from != rank_ && to != rank_)) continue;
      auto& made = pairs_[{from, to}];
      made = std::make_unique<Pair>();
      const std::string& id = ids[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
      open_end(from == rank_ ? made->sender : made->receiver, device_, id, from == rank_ ? 0 : 1);
    }
  }
}

NcclMover::~NcclMover() { close_all(); }

void NcclMover::close_all() {
  for (const auto& [ranks, pair] : pairs_) {
    for (const End* end : {&pair->sender, &pair->receiver}) {
      if (end->communicator != nullptr) ncclCommAbort(end->communicator);
    }
  }
  pairs_.clear();
}

void NcclMover::renew(Transport& envelopes) {
  close_all();
  if (!whole_) open_own(envelopes);
}

NcclMover::Pair& NcclMover::pair(int from, int to) {
  const std::lock_guard lock(mutex_);
  auto& made = pairs_[{from, to}];
  if (made != nullptr) return *made;
  ensure(whole_, "a pair of other processes");
  auto fresh = std::make_unique<Pair>();
  const std::string id = NcclRanks::unique_id();
  check(ncclGroupStart(), "group");
  open_end(fresh->sender, from, id, 0);
  open_end(fresh->receiver, to, id, 1);
  check(ncclGroupEnd(), "group");
  made = std::move(fresh);
  return *made;
}

NcclMover::Outgoing& NcclMover::free_buffer(End& end, std::size_t count) {
  for (Outgoing& outgoing : end.outgoing) {
    if (outgoing.values.size() >= static_cast<std::int64_t>(count) && outgoing.sent->has_come()) return outgoing;
  }
  return end.outgoing.emplace_back(Buffer<float>(capacity_for(count)), std::make_unique<Event>());
}

void NcclMover::send(int from, int to, const std::vector<float>& values) {
  End& end = pair(from, to).sender;
  const OnDevice on(end.device);
  Outgoing& outgoing = free_buffer(end, values.size());
  outgoing.values.copy_from(values);
  check(ncclSend(outgoing.values.get(), values.size(), ncclFloat, 1, end.communicator, end.stream->get()), "send");
  outgoing.sent->record(end.stream->get());
}

std::vector<float> NcclMover::receive(int from, int to, std::size_t count, Transport::Milliseconds timeout) {
  End& end = pair(from, to).receiver;
  const OnDevice on(end.device);
  if (end.incoming.size() < static_cast<std::int64_t>(count)) end.incoming = Buffer<float>(capacity_for(count));
  check(ncclRecv(end.incoming.get(), count, ncclFloat, 0, end.communicator, end.stream->get()), "receive");
  wait_for(end.stream->get(), end.communicator, "rank " + std::to_string(from), timeout);
  std::vector<float> values(count);
  end.incoming.copy_to(values);
  return values;
}

}  // namespace shardplan::cuda
