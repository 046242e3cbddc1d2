#include "sim/event_queue.h"

#include <algorithm>
#include <tuple>

#include "base/errors.h"

namespace shardplan {

EventId EventQueue::schedule(const Event& event) {
  ensure(event.time >= now_, "an event was scheduled in the past");
  std::uint32_t slot = 0;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  slots_[slot].event = event;
  slots_[slot].sequence = sequence_++;
  heap_.push_back(slot);
  slots_[slot].place = static_cast<std::uint32_t>(heap_.size() - 1);
  sift_up(heap_.size() - 1);
  return {.slot = slot, .generation = slots_[slot].generation};
}

bool EventQueue::pending(EventId id) const {
  return id.generation != 0 && id.slot < slots_.size() && slots_[id.slot].generation == id.generation;
}

bool EventQueue::cancel(EventId id) {
  if (!pending(id)) return false;
  remove(slots_[id.slot].place);
  return true;
}

void EventQueue::run_next() {
  const Event event = slots_[heap_.front()].event;
  remove(0);
  latest_ = event.time > now_ ? event.priority : std::max(latest_, event.priority);
  now_ = event.time;
  ++happened_;
  event.target->on_event(event);
}

bool EventQueue::before(std::uint32_t a, std::uint32_t b) const {
  const Slot& x = slots_[a];
  const Slot& y = slots_[b];
  return std::tuple(x.event.time, x.event.priority, x.sequence) < std::tuple(y.event.time, y.event.priority, y.sequence);
}

void EventQueue::put(std::size_t place, std::uint32_t slot) {
  heap_[place] = slot;
  slots_[slot].place = static_cast<std::uint32_t>(place);
}

void EventQueue::sift_up(std::size_t place) {
  const std::uint32_t slot = heap_[place];
  while (place > 0 && before(slot, heap_[(place - 1) / 2])) {
    put(place, heap_[(place - 1) / 2]);
    place = (place - 1) / 2;
  }
  put(place, slot);
}

void EventQueue::sift_down(std::size_t place) {
  const std::uint32_t slot = heap_[place];
  for (std::size_t child = 2 * place + 1; child < heap_.size(); child = 2 * place + 1) {
    if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
    if (!before(heap_[child], slot)) break;
    put(place, heap_[child]);
    place = child;
  }
  put(place, slot);
}

// Frees the slot at `place`; its id goes stale.
void EventQueue::remove(std::size_t place) {
  const std::uint32_t slot = heap_[place];
  if (++slots_[slot].generation == 0) slots_[slot].generation = 1;
  free_.push_back(slot);
  const std::uint32_t last = heap_.back();
  heap_.pop_back();
  if (place == heap_.size()) return;
  put(place, last);
  sift_up(place);
  sift_down(slots_[last].place);
}

}  // namespace shardplan
