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

NcclMover::NcclMover(int ranks) : whole_(true), ranks_(ranks) { open_whole(); }

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

// A message of one number, which sets the connection up.
void NcclMover::send_first(End& end) {
  const OnDevice on(end.device);
  Outgoing& first = end.outgoing.emplace_back(Buffer<float>(std::vector<float>{1}), std::make_unique<Event>());
  check(ncclSend(first.values.get(), 1, ncclFloat, 1, end.communicator, end.stream->get()), "first message");
}

void NcclMover::receive_first(End& end) {
  const OnDevice on(end.device);
  const Buffer<float>& first = end.incoming.emplace_back(1);
  check(ncclRecv(first.get(), 1, ncclFloat, 0, end.communicator, end.stream->get()), "first message");
}

void NcclMover::open_whole() {
  for (int from = 0; from < ranks_; ++from) {
    for (int to = 0; to < ranks_; ++to) {
      if (from == to) continue;
      auto& made = pairs_[{from, to}];
      made = std::make_unique<Pair>();
      const std::string id = NcclRanks::unique_id();
      check(ncclGroupStart(), "group");
      open_end(made->sender, from, id, 0);
      open_end(made->receiver, to, id, 1);
      check(ncclGroupEnd(), "group");
      check(ncclGroupStart(), "group");
      send_first(made->sender);
      receive_first(made->receiver);
      check(ncclGroupEnd(), "group");
      made->sender.stream->wait();
      made->receiver.stream->wait();
    }
  }
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
      End& end = from == rank_ ? made->sender : made->receiver;
      open_end(end, device_, id, from == rank_ ? 0 : 1);
      if (from == rank_)
        send_first(end);
      else
        receive_first(end);
      wait_for(end.stream->get(), end.communicator, "rank " + std::to_string(from == rank_ ? to : from), timeout_);
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
  if (whole_)
    open_whole();
  else
    open_own(envelopes);
}

NcclMover::Pair& NcclMover::pair(int from, int to) const {
  const auto found = pairs_.find({from, to});
  ensure(found != pairs_.end(), "a pair of other processes");
  return *found->second;
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
  if (end.incoming.back().size() < static_cast<std::int64_t>(count)) end.incoming.emplace_back(capacity_for(count));
  const Buffer<float>& incoming = end.incoming.back();
  check(ncclRecv(incoming.get(), count, ncclFloat, 0, end.communicator, end.stream->get()), "receive");
  wait_for(end.stream->get(), end.communicator, "rank " + std::to_string(from), timeout);
  std::vector<float> values(count);
  incoming.copy_to(values);
  return values;
}

}  // namespace shardplan::cuda
