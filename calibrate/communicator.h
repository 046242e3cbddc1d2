// Ranks as threads of one process, and mailboxes between them.
//
// Messages are raw buffers without indices; a receiver knows what they hold from the graph alone, so that a swapped or
// short buffer cannot pass. Every element that leaves a rank is counted with the bytes its tensor declares. The first
// error poisons all mailboxes, so that nobody waits for a rank that is gone; a rank that waits longer than the timeout
// fails with its name and what it was doing. Between two ranks messages arrive in the order they were sent.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/tamper.h"

namespace shardplan {

struct Message {
  std::vector<float> values;
  std::vector<std::int64_t> ids;  // of dispatch and combine only; costs nothing, as engines send counts apart
};

struct Sent {
  std::int64_t elements = 0;
  double bytes = 0;
};
// By (step, node) of the operation.
using Traffic = std::map<std::pair<int, int>, Sent>;

class Communicator;

// One rank's end; used by its thread alone.
class Endpoint {
 public:
  Endpoint(Communicator& communicator, int rank) : communicator_(communicator), rank_(rank) {}

  [[nodiscard]] int rank() const { return rank_; }
  // Names what follows, in counters and errors.
  void begin(const Operation& operation) { operation_ = operation; }
  // `elements` are what the bytes are declared of (a padded part counts whole).
  void send(int to, Message message, std::int64_t elements, double bytes_per_element, Payload payload = Payload::kValues);
  [[nodiscard]] Message receive(int from);
  [[nodiscard]] const Traffic& traffic() const { return traffic_; }
  [[nodiscard]] std::string text() const;  // "rank 3 in all_gather (step 0, node 5)"

 private:
  Communicator& communicator_;
  int rank_;
  Operation operation_;
  Traffic traffic_;
};

struct CommunicatorOptions {
  std::chrono::milliseconds timeout{10000};
  Tamper* tamper = nullptr;
};

class Communicator {
 public:
  explicit Communicator(int ranks, CommunicatorOptions options = {});

  // Runs `body` on every rank at once and returns each rank's traffic. Throws the first error, with the rank's name.
  std::vector<Traffic> run(const std::function<void(Endpoint&)>& body);

 private:
  friend class Endpoint;
  struct Mailbox {
    std::mutex mutex;
    std::condition_variable arrived;
    std::map<int, std::deque<Message>> from;
  };

  void post(int from, int to, Message message);
  Message take(int from, int to);
  void fail(const std::string& message);
  [[nodiscard]] bool poisoned();

  int ranks_;
  CommunicatorOptions options_;
  std::vector<Mailbox> mailboxes_;
  std::mutex failure_mutex_;
  std::string failure_;
};

}  // namespace shardplan
