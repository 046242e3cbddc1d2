// Progress of a long computation on stderr, and only when stderr is a terminal.
//
// One line is redrawn in place at most every 100 ms and erased at the end, so that logs and
// pipes stay clean. `advance` may be called from any thread; it costs an atomic addition and,
// on a terminal, a look at the clock.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/quantity.h"

namespace shardplan {

// "search: 1,200 of 4,800 (25 %), 3.00 s left"; total 0 is unknown: "search: 1,200".
// The time left assumes that the rest goes as the part that is done.
[[nodiscard]] std::string progress_line(std::string_view title, std::int64_t done, std::int64_t total, Seconds elapsed);

class Progress {
 public:
  using Sink = std::function<void(std::string_view)>;  // writes to the terminal; empty: silent

  Progress(std::string title, std::int64_t total);  // stderr, silent unless a terminal
  Progress(std::string title, std::int64_t total, Sink sink);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::int64_t steps = 1);
  [[nodiscard]] std::int64_t done() const { return done_.load(std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;
  void draw(Clock::time_point now);

  std::string title_;
  std::int64_t total_;
  Sink sink_;
  Clock::time_point start_;
  std::atomic<std::int64_t> done_{0};
  std::atomic<std::int64_t> next_draw_;  // Clock ticks
  std::atomic_flag drawing_;
  std::atomic<bool> drawn_{false};
};

}  // namespace shardplan
