// Ranks as threads of one process, and mailboxes between them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>

#include "calibrate/transport.h"

namespace shardplan {

class ThreadTransport : public Transport {
 public:
  explicit ThreadTransport(int ranks) : mailboxes_(static_cast<std::size_t>(ranks)) {}

  [[nodiscard]] int ranks() const override { return static_cast<int>(mailboxes_.size()); }
  [[nodiscard]] std::vector<int> local_ranks(int used) const override;
  void begin_run() override;
  void post(int from, int to, Message message) override;
  Message take(int from, int to, Milliseconds timeout) override;
  void fail(const std::string& message) override;
  [[nodiscard]] std::string failure() override;
  std::vector<std::string> share(std::string mine, Milliseconds) override { return {std::move(mine)}; }
  [[nodiscard]] bool several_processes() const override { return false; }

 private:
  struct Mailbox {
    std::mutex mutex;
    std::condition_variable arrived;
    std::atomic<std::int64_t> posted = 0;
    std::map<int, std::deque<Message>> from;
    std::map<int, Operation> heard;   // last word from a rank
  };

  void look_out(const Mailbox& box, std::int64_t seen) const;

  std::vector<Mailbox> mailboxes_;
  std::mutex failure_mutex_;
  std::string failure_;
};

}  // namespace shardplan
