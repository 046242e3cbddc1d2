// The event kernel: what happens next, in the total order (time, priority, sequence).
//
// Sequence counts `schedule` calls, so that events of equal time and priority happen as they were scheduled: a run is
// the same bits every time. Cancelling takes O(log n). Slots and heap are reused: no allocation once the largest number
// of pending events has been seen. Binary heap of slots, each knowing its place.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/sim_time.h"

namespace shardplan {

// Lower happens first at equal times. What the end of a step brings about elsewhere at the same time (a hand-over, the
// next request of a closed loop) is an answer: it comes when all steps that end then have ended.
enum class EventPriority : std::uint8_t { kFault, kArrival, kTransfer, kStep, kAnswer, kWake, kSample };

class EventTarget;

struct Event {
  SimTime time;
  EventPriority priority = EventPriority::kStep;
  EventTarget* target = nullptr;
  std::int64_t argument = 0;   // the target's own meaning
};

class EventTarget {
 public:
  virtual ~EventTarget() = default;
  virtual void on_event(const Event& event) = 0;
};

// Names a scheduled event; stale once it has happened or was cancelled. The default names none.
struct EventId {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;   // 0: none
};

class EventQueue {
 public:
  // Time of the event that happened last.
  [[nodiscard]] SimTime now() const { return now_; }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::int64_t happened() const { return happened_; }
  // Whether an event of a later priority has happened at this time already.
  [[nodiscard]] bool past(EventPriority priority) const { return latest_ > priority; }

  // Precondition: event.time >= now().
  EventId schedule(const Event& event);
  [[nodiscard]] bool pending(EventId id) const;
  // False, and nothing happens, when the event is no longer pending.
  bool cancel(EventId id);
  // Takes the next event and hands it to its target. Precondition: not empty.
  void run_next();

 private:
  struct Slot {
    Event event;
    std::uint64_t sequence = 0;
    std::uint32_t generation = 1;
    std::uint32_t place = 0;    // in heap_
  };
  [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b) const;
  void put(std::size_t place, std::uint32_t slot);
  void sift_up(std::size_t place);
  void sift_down(std::size_t place);
  void remove(std::size_t place);

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> heap_;
  SimTime now_;
  EventPriority latest_ = EventPriority::kFault;   // of the events at now_
  std::uint64_t sequence_ = 0;
  std::int64_t happened_ = 0;
};

}  // namespace shardplan
