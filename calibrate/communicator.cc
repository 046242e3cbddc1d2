#include "calibrate/communicator.h"

#include <thread>

#include "base/errors.h"
#include "calibrate/byte_stream.h"
#include "calibrate/thread_transport.h"

namespace shardplan {

void Endpoint::begin(const Operation& operation) {
  operation_ = operation;
  communicator_.transport().note(rank_, operation);
}

std::string Endpoint::text() const { return "rank " + std::to_string(rank_) + " in " + operation_text(operation_); }

void Endpoint::send(int to, Message message, std::int64_t elements, double bytes_per_element, Payload payload) {
  ensure(to != rank_, "a rank sends itself nothing");
  Sent& sent = traffic_[{operation_.step, operation_.node}];
  sent.elements += elements;
  sent.bytes += static_cast<double>(elements) * bytes_per_element;
  Tamper* tamper = communicator_.options_.tamper;
  if (tamper != nullptr) {
    tamper->on_send(operation_, payload, rank_, to, message.values);
    to = tamper->destination(operation_, rank_, to);
  }
  message.sent_in = operation_;
  communicator_.transport().post(rank_, to, std::move(message));
}

Message Endpoint::receive(int from) {
  Tamper* tamper = communicator_.options_.tamper;
  if (tamper != nullptr) from = tamper->origin(operation_, rank_, from);
  return communicator_.transport().take(from, rank_, communicator_.options_.timeout);
}

void Endpoint::barrier() {
  Transport& transport = communicator_.transport();
  const auto timeout = communicator_.options_.timeout;
  const Message nothing{{}, {}, operation_};
  if (rank_ > 0) {
    transport.post(rank_, 0, nothing);
    static_cast<void>(transport.take(0, rank_, timeout));
    return;
  }
  for (int peer = 1; peer < communicator_.ranks(); ++peer) static_cast<void>(transport.take(peer, 0, timeout));
  for (int peer = 1; peer < communicator_.ranks(); ++peer) transport.post(0, peer, nothing);
}

Communicator::Communicator(int ranks, CommunicatorOptions options) : ranks_(ranks), options_(std::move(options)) {
  if (options_.transport == nullptr) options_.transport = std::make_shared<ThreadTransport>(ranks);
  ensure(options_.transport->ranks() >= ranks, "the transport has too few ranks");
}

void Communicator::run_rank(Endpoint& endpoint, const std::function<void(Endpoint&)>& body) {
  try {
    body(endpoint);
  } catch (const PeerFailed&) {
    // told by the rank that failed
  } catch (const std::exception& error) {
    transport().fail(endpoint.text() + ": " + error.what());
  }
}

// Every process's counters, by rank.
std::vector<Traffic> Communicator::gathered(const std::vector<Endpoint>& endpoints) {
  ByteWriter out;
  out.number(static_cast<std::int64_t>(endpoints.size()));
  for (const Endpoint& endpoint : endpoints) {
    out.number(std::int64_t{endpoint.rank()});
    out.number(static_cast<std::int64_t>(endpoint.traffic().size()));
    for (const auto& [at, sent] : endpoint.traffic()) {
      out.number(std::int64_t{at.first});
      out.number(std::int64_t{at.second});
      out.number(sent.elements);
      out.number(sent.bytes);
    }
  }
  std::vector<Traffic> traffic(static_cast<std::size_t>(ranks_));
  for (const std::string& text : transport().share(out.take(), options_.timeout)) {
    ByteReader in(text);
    for (auto left = in.number<std::int64_t>(); left > 0; --left) {
      Traffic& of_rank = traffic[static_cast<std::size_t>(in.number<std::int64_t>())];
      for (auto rows = in.number<std::int64_t>(); rows > 0; --rows) {
        const auto step = static_cast<int>(in.number<std::int64_t>());
        const auto node = static_cast<int>(in.number<std::int64_t>());
        const auto elements = in.number<std::int64_t>();
        of_rank[{step, node}] = {elements, in.number<double>()};
      }
    }
  }
  return traffic;
}

std::vector<Traffic> Communicator::run(const std::function<void(Endpoint&)>& body) {
  transport().begin_run();
  std::vector<Endpoint> endpoints;
  for (const int rank : transport().local_ranks(ranks_)) endpoints.emplace_back(*this, rank);
  std::vector<std::thread> threads;
  if (endpoints.size() == 1) {
    run_rank(endpoints.front(), body);
  } else {
    for (Endpoint& endpoint : endpoints) threads.emplace_back([&] { run_rank(endpoint, body); });
    for (std::thread& thread : threads) thread.join();
  }
  if (!transport().several_processes() && !transport().failure().empty()) throw InternalError(transport().failure());
  std::vector<Traffic> traffic = gathered(endpoints);
  if (!transport().failure().empty()) throw InternalError(transport().failure());
  return traffic;
}

}  // namespace shardplan
