#include "calibrate/communicator.h"

#include <atomic>
#include <deque>
#include <map>
#include <mutex>

#include "base/errors.h"
#include "calibrate/payload_transport.h"
#include "calibrate/thread_transport.h"
#include "tests/calibrate/failure_of.h"
#include "tests/catch.h"

namespace shardplan {
namespace {

// Every rank sends its number to every other.
void exchange_ranks(Endpoint& endpoint, int ranks, std::atomic<int>& sum) {
  endpoint.begin({0, 3, "all_gather"});
  for (int to = 0; to < ranks; ++to) {
    if (to != endpoint.rank()) endpoint.send(to, {{static_cast<float>(endpoint.rank())}, {}}, 1, 2.0);
  }
  for (int from = 0; from < ranks; ++from) {
    if (from != endpoint.rank()) sum += static_cast<int>(endpoint.receive(from).values.at(0));
  }
}

class SwapOrigins : public Tamper {
 public:
  int origin(const Operation&, int to, int from) override { return to == 0 && from != 0 ? 3 - from : from; }
};

TEST_CASE("ranks exchange buffers and count elements and declared bytes by operation") {
  std::atomic<int> sum = 0;
  const auto traffic = Communicator(4).run([&](Endpoint& endpoint) { exchange_ranks(endpoint, 4, sum); });
  CHECK(sum == 3 * (0 + 1 + 2 + 3));
  for (const Traffic& t : traffic) {
    CHECK(t.at({0, 3}).elements == 3);
    CHECK(t.at({0, 3}).bytes == 6.0);
  }
}

TEST_CASE("messages between two ranks arrive in order") {
  Communicator(2).run([](Endpoint& endpoint) {
    endpoint.begin({0, 0, "send"});
    for (int i = 0; i < 100 && endpoint.rank() == 0; ++i) endpoint.send(1, {{static_cast<float>(i)}, {}}, 1, 4.0);
    for (int i = 0; i < 100 && endpoint.rank() == 1; ++i) ensure(endpoint.receive(0).values.at(0) == static_cast<float>(i), "order");
  });
}

TEST_CASE("the first error ends all ranks at once and names its rank and operation") {
  Communicator communicator(4, {.timeout = std::chrono::seconds(60)});
  const auto body = [](Endpoint& endpoint) {
    endpoint.begin({2, 7, "reduce_scatter"});
    if (endpoint.rank() == 2) throw InternalError("out of luck");
    static_cast<void>(endpoint.receive(2));
  };
  CHECK(failure_of([&] { communicator.run(body); }) == "rank 2 in reduce_scatter (step 2, node 7): out of luck");
}

TEST_CASE("a rank that waits too long says for whom and in what") {
  Communicator communicator(2, {.timeout = std::chrono::milliseconds(20)});
  const auto body = [](Endpoint& endpoint) {
    endpoint.begin({0, 5, "lse_gather"});
    if (endpoint.rank() == 1) static_cast<void>(endpoint.receive(0));
  };
  CHECK(failure_of([&] { communicator.run(body); }) == "rank 1 in lse_gather (step 0, node 5): waited 20 ms for rank 0");
}

TEST_CASE("a tamper hook can exchange what is received from two peers") {
  SwapOrigins tamper;
  Communicator communicator(3, {.tamper = &tamper});
  std::atomic<int> first = -1;
  communicator.run([&](Endpoint& endpoint) {
    endpoint.begin({0, 0, "all_gather"});
    if (endpoint.rank() > 0) endpoint.send(0, {{static_cast<float>(endpoint.rank())}, {}}, 1, 4.0);
    if (endpoint.rank() == 0) first = static_cast<int>(endpoint.receive(1).values.at(0));
  });
  CHECK(first == 2);
}

// Numbers that go their own way, as over NCCL.
class QueueMover : public PayloadMover {
 public:
  void send(int from, int to, const std::vector<float>& values) override {
    const std::lock_guard lock(mutex_);
    queues_[{from, to}].push_back(values);
  }
  std::vector<float> receive(int from, int to, std::size_t count, Transport::Milliseconds) override {
    const std::lock_guard lock(mutex_);
    auto& queue = queues_[{from, to}];
    ensure(!queue.empty() && queue.front().size() == count, "numbers in another order than their envelopes");
    std::vector<float> values = std::move(queue.front());
    queue.pop_front();
    return values;
  }
  void renew(Transport&) override { queues_.clear(); }

 private:
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::deque<std::vector<float>>> queues_;
};

TEST_CASE("numbers that go another way than their envelopes arrive with them, and bytes are counted as ever") {
  const auto transport = std::make_shared<PayloadTransport>(std::make_shared<ThreadTransport>(4), std::make_unique<QueueMover>());
  std::atomic<int> sum = 0;
  const auto traffic = Communicator(4, {.transport = transport}).run([&](Endpoint& endpoint) {
    exchange_ranks(endpoint, 4, sum);
    endpoint.barrier();   // messages without numbers
  });
  CHECK(sum == 4 * (0 + 1 + 2 + 3) - (0 + 1 + 2 + 3));
  CHECK(traffic[0].at({0, 3}).bytes == 6);
}

TEST_CASE("numbers of a run that failed are not those of the next") {
  const auto transport = std::make_shared<PayloadTransport>(std::make_shared<ThreadTransport>(2), std::make_unique<QueueMover>());
  Communicator communicator(2, {.transport = transport});
  const auto exchange = [&](float number, bool fails) {
    float got = 0;
    communicator.run([&](Endpoint& endpoint) {
      endpoint.begin({0, 0, "test"});
      if (endpoint.rank() == 0) return endpoint.send(1, {{number}}, 1, 2);
      if (fails) throw InternalError("spoiled");
      got = endpoint.receive(0).values.front();
    });
    return got;
  };
  CHECK_THROWS_AS(exchange(1, true), InternalError);
  CHECK(exchange(2, false) == 2);
}

}  // namespace
}  // namespace shardplan
