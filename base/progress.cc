#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "base/units.h"

namespace shardplan {
namespace {

constexpr std::chrono::milliseconds kRedrawEvery{100};

// Writes to stderr when a person is looking at it, else nothing.
Progress::Sink terminal_sink() {
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  if (dumb || isatty(STDERR_FILENO) == 0) return {};
  return [](std::string_view text) {
    if (write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // a lost line of progress harms nobody
  };
}

}  // namespace

std::string progress_line(std::string_view title, std::int64_t done, std::int64_t total, Seconds elapsed) {
  if (total <= 0) return fmt::format("{}: {}", title, format_count(static_cast<double>(done)));
  const double ratio = static_cast<double>(done) / static_cast<double>(total);
  std::string line = fmt::format("{}: {} of {} ({:.0f} %)", title, format_count(static_cast<double>(done)),
                                 format_count(static_cast<double>(total)), 100 * ratio);
  if (done > 0 && done < total) line += fmt::format(", {} left", format_seconds(elapsed * (1 / ratio - 1)));
  return line;
}

Progress::Progress(std::string title, std::int64_t total) : Progress(std::move(title), total, terminal_sink()) {}

Progress::Progress(std::string title, std::int64_t total, Sink sink)
    : title_(std::move(title)),
      total_(total),
      sink_(std::move(sink)),
      start_(Clock::now()),
      next_draw_((start_ + kRedrawEvery).time_since_epoch().count()) {}

Progress::~Progress() {
  if (drawn_) sink_("\r\x1b[K");
}

void Progress::advance(std::int64_t steps) {
  done_.fetch_add(steps, std::memory_order_relaxed);
  if (!sink_) return;
  const Clock::time_point now = Clock::now();
  if (now.time_since_epoch().count() >= next_draw_.load(std::memory_order_relaxed)) draw(now);
}

void Progress::draw(Clock::time_point now) {
  if (drawing_.test_and_set(std::memory_order_acquire)) return;  // another thread is at it
  next_draw_.store((now + kRedrawEvery).time_since_epoch().count(), std::memory_order_relaxed);
  const Seconds elapsed(std::chrono::duration<double>(now - start_).count());
  sink_("\r" + progress_line(title_, done(), total_, elapsed) + "\x1b[K");
  drawn_ = true;
  drawing_.clear(std::memory_order_release);
}

}  // namespace shardplan
