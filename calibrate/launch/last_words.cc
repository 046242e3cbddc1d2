#include "calibrate/launch/last_words.h"

#include <csignal>
#include <cstddef>
#include <unistd.h>

#include <atomic>

namespace shardplan {
namespace {

std::atomic<int> last_rank{0};
std::atomic<int> last_step{-1};
std::atomic<int> last_node{-1};
std::atomic<const char*> last_name{"nothing"};

// Only what a signal handler may call.
class Line {
 public:
  Line& text(const char* part) {
    while (*part != '\0' && size_ < sizeof buffer_) buffer_[size_++] = *part++;
    return *this;
  }
  Line& number(int value) {
    if (value < 0) return text("-").number(-value);
    if (value >= 10) number(value / 10);
    const char digit[] = {static_cast<char>('0' + value % 10), '\0'};
    return text(digit);
  }
  void write() const {
    if (::write(STDERR_FILENO, buffer_, size_) < 0) return;   // nobody listens any more
  }

 private:
  char buffer_[256];
  std::size_t size_ = 0;
};

void on_end(int) {
  Line().text("shardplan: rank ").number(last_rank).text(" was ended from outside in ").text(last_name).text(" (step ").number(last_step)
      .text(", node ").number(last_node).text(")\n").write();
  std::signal(SIGTERM, SIG_DFL);
  std::raise(SIGTERM);
}

}  // namespace

void speak_last_words(int rank) {
  last_rank = rank;
  std::signal(SIGTERM, on_end);
}

void note_last_words(const Operation& operation) {
  last_step.store(operation.step, std::memory_order_relaxed);
  last_node.store(operation.node, std::memory_order_relaxed);
  last_name.store(operation.name, std::memory_order_relaxed);
}

}  // namespace shardplan
