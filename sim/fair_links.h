// Transfers over shared links: a fluid whose rates are max-min fair.
//
// Progressive filling (Bertsekas and Gallager, Data Networks, section 6.5): every transfer's rate grows until a link
// of its route is full; those that cross the link with the least capacity left per transfer are fixed first. Rates are found
// anew whenever a transfer starts or ends; in between each moves rate*time bytes. A transfer ends at the first picosecond
// at which less than half a byte is left. A start-up delay is the caller's: begin the transfer later.
// Wrong where a protocol shares by round-trip time or window, and for messages too short to fill a link.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/quantity.h"
#include "sim/event_queue.h"

namespace shardplan {

class TransferOwner {
 public:
  virtual ~TransferOwner() = default;
  virtual void on_transferred(std::int64_t tag) = 0;   // may start further transfers
};

class FairLinks : public EventTarget {
 public:
  FairLinks(EventQueue& events, std::vector<BytesPerSecond> capacities);

  // `route` names links by index (an empty one moves at once); `tag` comes back when the last byte has arrived.
  void start(Bytes bytes, std::span<const std::int32_t> route, TransferOwner& owner, std::int64_t tag);
  // Transfers of this owner and tag end where they are; nobody is told.
  void cancel(const TransferOwner& owner, std::int64_t tag);
  [[nodiscard]] std::int64_t active() const { return static_cast<std::int64_t>(transfers_.size()); }
  // Moves the bytes of the transfers under way until now.
  void settle() { advance(); }
  // Bytes that have crossed a link until the last start or end of a transfer, or the last `settle`.
  [[nodiscard]] double moved_bytes_ratio(std::int32_t link) const { return links_[static_cast<std::size_t>(link)].moved; }

  void on_event(const Event& event) override;

 private:
  struct Link {
    double capacity = 0;   // bytes per picosecond
    double left = 0;       // not given to a transfer, while filling
    std::int32_t users = 0;
    double moved = 0;
  };
  struct Transfer {
    double left = 0;       // bytes
    double rate = 0;       // bytes per picosecond
    bool fixed = false;
    std::vector<std::int32_t> route;
    TransferOwner* owner = nullptr;
    std::int64_t tag = 0;
  };
  void advance();
  void fill();
  [[nodiscard]] std::int32_t tightest() const;
  void schedule_next();

  EventQueue& events_;
  std::vector<Link> links_;
  std::vector<Transfer> transfers_;   // in order of their start
  SimTime since_;
  EventId next_;
};

}  // namespace shardplan
