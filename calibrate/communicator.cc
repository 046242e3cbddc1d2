#include "calibrate/communicator.h"

#include <thread>

#include "base/errors.h"

namespace shardplan {
namespace {

// Ends a rank whose peer has failed; the peer's error is the one that is told.
class Poisoned : public std::exception {};

}  // namespace

std::string Endpoint::text() const {
  return "rank " + std::to_string(rank_) + " in " + operation_.name + " (step " + std::to_string(operation_.step) + ", node " +
         std::to_string(operation_.node) + ")";
}

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
  communicator_.post(rank_, to, std::move(message));
}

Message Endpoint::receive(int from) {
  Tamper* tamper = communicator_.options_.tamper;
  if (tamper != nullptr) from = tamper->origin(operation_, rank_, from);
  return communicator_.take(from, rank_);
}

Communicator::Communicator(int ranks, CommunicatorOptions options)
    : ranks_(ranks), options_(options), mailboxes_(static_cast<std::size_t>(ranks)) {}

void Communicator::post(int from, int to, Message message) {
  ensure(to >= 0 && to < ranks_, "message to a rank that does not exist");
  Mailbox& box = mailboxes_[static_cast<std::size_t>(to)];
  const std::lock_guard lock(box.mutex);
  box.from[from].push_back(std::move(message));
  box.arrived.notify_all();
}

Message Communicator::take(int from, int to) {
  Mailbox& box = mailboxes_[static_cast<std::size_t>(to)];
  std::unique_lock lock(box.mutex);
  std::deque<Message>& queue = box.from[from];
  const bool woken = box.arrived.wait_for(lock, options_.timeout, [&] { return !queue.empty() || poisoned(); });
  if (queue.empty() && woken) throw Poisoned();
  if (queue.empty()) {
    throw EnvironmentError("waited " + std::to_string(options_.timeout.count()) + " ms for rank " + std::to_string(from));
  }
  Message message = std::move(queue.front());
  queue.pop_front();
  return message;
}

bool Communicator::poisoned() {
  const std::lock_guard lock(failure_mutex_);
  return !failure_.empty();
}

void Communicator::fail(const std::string& message) {
  {
    const std::lock_guard lock(failure_mutex_);
    if (failure_.empty()) failure_ = message;
  }
  for (Mailbox& box : mailboxes_) {
    const std::lock_guard lock(box.mutex);
    box.arrived.notify_all();
  }
}

std::vector<Traffic> Communicator::run(const std::function<void(Endpoint&)>& body) {
  std::vector<Endpoint> endpoints;
  for (int rank = 0; rank < ranks_; ++rank) endpoints.emplace_back(*this, rank);
  const auto guarded = [&](Endpoint& endpoint) {
    try {
      body(endpoint);
    } catch (const Poisoned&) {
      // told by the rank that failed
    } catch (const std::exception& error) {
      fail(endpoint.text() + ": " + error.what());
    }
  };
  std::vector<std::thread> threads;
  for (Endpoint& endpoint : endpoints) threads.emplace_back(guarded, std::ref(endpoint));
  for (std::thread& thread : threads) thread.join();
  if (poisoned()) throw InternalError(failure_);
  std::vector<Traffic> traffic;
  for (const Endpoint& endpoint : endpoints) traffic.push_back(endpoint.traffic());
  return traffic;
}

}  // namespace shardplan
