// Ranks at work: one thread each, sending and receiving through a transport, every byte counted.
//
// Messages are raw buffers without indices; a receiver knows what they hold from the graph alone, so that a swapped or
// short buffer cannot pass. Every element that leaves a rank is counted with the bytes its tensor declares. The first
// error ends all ranks, so that nobody waits for a rank that is gone; a rank that waits longer than the timeout
// fails with its name and what it was doing. Between two ranks messages arrive in the order they were sent.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "calibrate/storage.h"
#include "calibrate/transport.h"

namespace shardplan {

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
  void begin(const Operation& operation);
  // `elements` are what the bytes are declared of (a padded part counts whole).
  void send(int to, Message message, std::int64_t elements, double bytes_per_element, Payload payload = Payload::kValues);
  [[nodiscard]] Message receive(int from);
  // Returns when every rank of the run is here; costs no counted bytes.
  void barrier();
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
  std::shared_ptr<Transport> transport;   // nullptr: threads of this process
};

class Communicator {
 public:
  // InternalError when the transport has fewer ranks.
  explicit Communicator(int ranks, CommunicatorOptions options = {});

  // Runs `body` on every rank that is this process's, at once, and returns each rank's traffic, also of ranks elsewhere.
  // Throws the first error, with the rank's name, on every process.
  std::vector<Traffic> run(const std::function<void(Endpoint&)>& body);

  [[nodiscard]] Transport& transport() { return *options_.transport; }
  [[nodiscard]] int ranks() const { return ranks_; }

 private:
  friend class Endpoint;
  void run_rank(Endpoint& endpoint, const std::function<void(Endpoint&)>& body);
  [[nodiscard]] std::vector<Traffic> gathered(const std::vector<Endpoint>& endpoints);

  int ranks_;
  CommunicatorOptions options_;
};

}  // namespace shardplan
