// How long this thread was ready to run and had no core, because other programs had it: what a measurement must not
// hold.
//
// Linux tells it in /proc/thread-self/schedstat (second number, nanoseconds). Where it does not, all is zero.
#pragma once

namespace shardplan {

// Of the thread that makes it.
class CoreWait {
 public:
  CoreWait();
  ~CoreWait();
  CoreWait(const CoreWait&) = delete;
  CoreWait& operator=(const CoreWait&) = delete;
  // Since the thread began.
  [[nodiscard]] double seconds() const;
  // On a core, since the thread began.
  [[nodiscard]] static double busy_seconds();

 private:
  int file_ = -1;
};

}  // namespace shardplan
