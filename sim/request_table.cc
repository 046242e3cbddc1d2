#include "sim/request_table.h"

#include <utility>

namespace shardplan {

// A reused slot keeps the memory of its hashes.
RequestSlot RequestTable::add() {
  if (free_.empty()) {
    slots_.emplace_back();
    return static_cast<RequestSlot>(slots_.size() - 1);
  }
  const RequestSlot slot = free_.back();
  free_.pop_back();
  return slot;
}

void RequestTable::remove(RequestSlot slot) {
  Request& request = (*this)[slot];
  std::vector<std::uint64_t> hashes = std::move(request.spec.hashes);
  hashes.clear();
  request = Request{};
  request.spec.hashes = std::move(hashes);
  free_.push_back(slot);
}

void RequestTable::push_back(RequestList& list, RequestSlot slot) {
  Request& request = (*this)[slot];
  request.previous = list.tail;
  request.next = kNoRequest;
  if (list.tail != kNoRequest) (*this)[list.tail].next = slot;
  else list.head = slot;
  list.tail = slot;
  ++list.size;
}

void RequestTable::push_front(RequestList& list, RequestSlot slot) {
  Request& request = (*this)[slot];
  request.previous = kNoRequest;
  request.next = list.head;
  if (list.head != kNoRequest) (*this)[list.head].previous = slot;
  else list.tail = slot;
  list.head = slot;
  ++list.size;
}

void RequestTable::erase(RequestList& list, RequestSlot slot) {
  Request& request = (*this)[slot];
  if (request.previous != kNoRequest) (*this)[request.previous].next = request.next;
  else list.head = request.next;
  if (request.next != kNoRequest) (*this)[request.next].previous = request.previous;
  else list.tail = request.previous;
  request.previous = request.next = kNoRequest;
  --list.size;
}

}  // namespace shardplan
