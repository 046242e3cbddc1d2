// Ranks as processes, one each, over a wire that carries bytes between any two of them.
//
// Messages are sent without waiting and received by looking, so that a wait can end: with a message, with word of
// another rank's failure, when the wire says that a process is gone, or after the timeout. A process that is told to
// end (launchers do so when another has died) first says which rank it was and what it was doing.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "calibrate/transport.h"

namespace shardplan {

class Wire {
 public:
  virtual ~Wire() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int ranks() const = 0;
  // Takes the bytes and returns; they arrive in order.
  virtual void send(int to, std::string bytes) = 0;
  // Whatever has come, from whom; false when nothing has. Moves on what is being sent, too.
  virtual bool receive(int& from, std::string& bytes) = 0;
  // Whether a process is known to be gone.
  [[nodiscard]] virtual bool is_gone(int) const { return false; }
};

class LetterTransport : public Transport {
 public:
  explicit LetterTransport(std::unique_ptr<Wire> wire);
  ~LetterTransport() override;
  LetterTransport(const LetterTransport&) = delete;
  LetterTransport& operator=(const LetterTransport&) = delete;

  [[nodiscard]] int ranks() const override { return wire_->ranks(); }
  [[nodiscard]] std::vector<int> local_ranks(int used) const override;
  [[nodiscard]] bool several_processes() const override { return wire_->ranks() > 1; }
  [[nodiscard]] std::string failure() override { return failure_; }
  void note(int rank, const Operation& operation) override;
  void begin_run() override;
  void post(int from, int to, Message message) override;
  Message take(int from, int to, Milliseconds timeout) override;
  void fail(const std::string& message) override;
  std::vector<std::string> share(std::string mine, Milliseconds timeout) override;

 private:
  enum class Kind : std::int64_t { kMessage, kFailure, kShare };
  // Envelope of every message between processes.
  struct Letter {
    Kind kind = Kind::kMessage;
    std::int64_t run = 0;
    std::string text;     // kFailure, kShare: the failure so far
    std::string content;  // kShare
    Message message;
  };
  [[nodiscard]] std::string last_heard(int rank) const;
  void deliver(int to, const Letter& letter);
  bool look();
  void sort_in(int from, const std::string& bytes);
  template <class Done>
  void wait_until(Done done, int of_rank, Milliseconds timeout);

  std::unique_ptr<Wire> wire_;
  std::int64_t run_ = 0;
  std::string failure_;
  std::map<int, std::deque<Letter>> messages_;
  std::map<int, std::deque<Letter>> shares_;
  std::deque<Letter> early_failures_;
  std::map<int, Operation> heard_;
  std::set<std::string> names_;  // of operations, as long as the transport
};

}  // namespace shardplan
