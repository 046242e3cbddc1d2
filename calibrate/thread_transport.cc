#include "calibrate/thread_transport.h"

#include <chrono>
#include <numeric>
#include <thread>

#include "base/errors.h"

namespace shardplan {

namespace {

// How long a rank with a core of its own looks out for a message before it sleeps, as libraries of collectives do: being
// woken takes tens of microseconds.
constexpr std::chrono::microseconds kLookOut{200};

}  // namespace

std::string operation_text(const Operation& operation) {
  return std::string(operation.name) + " (step " + std::to_string(operation.step) + ", node " + std::to_string(operation.node) + ")";
}

std::vector<int> ThreadTransport::local_ranks(int used) const {
  std::vector<int> all(static_cast<std::size_t>(used));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void ThreadTransport::begin_run() {
  for (Mailbox& box : mailboxes_) {
    const std::lock_guard lock(box.mutex);
    box.from.clear();
    box.heard.clear();
  }
  const std::lock_guard lock(failure_mutex_);
  failure_.clear();
}

void ThreadTransport::post(int from, int to, Message message) {
  ensure(to >= 0 && to < ranks(), "message to a rank that does not exist");
  Mailbox& box = mailboxes_[static_cast<std::size_t>(to)];
  const std::lock_guard lock(box.mutex);
  box.heard[from] = message.sent_in;
  box.from[from].push_back(std::move(message));
  box.posted.fetch_add(1, std::memory_order_release);
  box.arrived.notify_all();
}

void ThreadTransport::look_out(const Mailbox& box, std::int64_t seen) const {
  if (mailboxes_.size() > std::thread::hardware_concurrency()) return;
  const auto end = std::chrono::steady_clock::now() + kLookOut;
  while (box.posted.load(std::memory_order_acquire) == seen && std::chrono::steady_clock::now() < end) {
  }
}

Message ThreadTransport::take(int from, int to, Milliseconds timeout) {
  Mailbox& box = mailboxes_[static_cast<std::size_t>(to)];
  std::unique_lock lock(box.mutex);
  if (box.from[from].empty()) {
    const std::int64_t seen = box.posted.load(std::memory_order_relaxed);
    lock.unlock();
    look_out(box, seen);
    lock.lock();
  }
  std::deque<Message>& queue = box.from[from];
  const bool woken = box.arrived.wait_for(lock, timeout, [&] { return !queue.empty() || !failure().empty(); });
  if (queue.empty() && woken) throw PeerFailed();
  if (queue.empty()) {
    const auto heard = box.heard.find(from);
    const std::string last = heard == box.heard.end() ? "" : ", last heard of in " + operation_text(heard->second);
    throw EnvironmentError("waited " + std::to_string(timeout.count()) + " ms for rank " + std::to_string(from) + last);
  }
  Message message = std::move(queue.front());
  queue.pop_front();
  return message;
}

std::string ThreadTransport::failure() {
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

void ThreadTransport::fail(const std::string& message) {
  {
    const std::lock_guard lock(failure_mutex_);
    if (failure_.empty()) failure_ = message;
  }
  for (Mailbox& box : mailboxes_) {
    const std::lock_guard lock(box.mutex);
    box.arrived.notify_all();
  }
}

}  // namespace shardplan
