#include "calibrate/core_wait.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <ctime>

namespace shardplan {

CoreWait::CoreWait() : file_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}

CoreWait::~CoreWait() {
  if (file_ >= 0) close(file_);
}

double CoreWait::busy_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double CoreWait::seconds() const {
  char text[96];
  const ssize_t size = file_ < 0 ? 0 : pread(file_, text, sizeof text, 0);
  const char* const end = text + (size > 0 ? size : 0);
  std::uint64_t running = 0;
  std::uint64_t waiting = 0;
  const auto first = std::from_chars(text, end, running);
  if (first.ec != std::errc() || first.ptr == end) return 0;
  if (std::from_chars(first.ptr + 1, end, waiting).ec != std::errc()) return 0;
  return static_cast<double>(waiting) * 1e-9;
}

}  // namespace shardplan
