#include "sim/fair_links.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/errors.h"

namespace shardplan {
namespace {

constexpr double kArrivedBytes = 0.5;

}  // namespace

FairLinks::FairLinks(EventQueue& events, std::vector<BytesPerSecond> capacities) : events_(events) {
  for (const BytesPerSecond capacity : capacities) {
    ensure(capacity.value() > 0, "a link needs a positive capacity");
    links_.push_back({.capacity = capacity.value() / kPicosecondsPerSecond});
  }
}

void FairLinks::start(Bytes bytes, std::span<const std::int32_t> route, TransferOwner& owner, std::int64_t tag) {
  advance();
  Transfer transfer{.left = static_cast<double>(bytes.value()), .owner = &owner, .tag = tag};
  transfer.route.assign(route.begin(), route.end());
  transfers_.push_back(std::move(transfer));
  fill();
  schedule_next();
}

void FairLinks::cancel(const TransferOwner& owner, std::int64_t tag) {
  advance();
  std::erase_if(transfers_, [&](const Transfer& transfer) { return transfer.owner == &owner && transfer.tag == tag; });
  fill();
  schedule_next();
}

void FairLinks::advance() {
  const auto elapsed = static_cast<double>((events_.now() - since_).value());
  since_ = events_.now();
  for (Transfer& transfer : transfers_) {
    const double moved = std::min(transfer.left, transfer.rate * elapsed);
    transfer.left -= moved;
    for (const std::int32_t link : transfer.route) links_[static_cast<std::size_t>(link)].moved += moved;
  }
}

// The link with the least capacity left per transfer that is not fixed yet, or -1.
std::int32_t FairLinks::tightest() const {
  std::int32_t best = -1;
  double least = 0;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (links_[i].users == 0) continue;
    const double share = links_[i].left / links_[i].users;
    if (best >= 0 && share >= least) continue;
    best = static_cast<std::int32_t>(i);
    least = share;
  }
  return best;
}

void FairLinks::fill() {
  for (Link& link : links_) {
    link.left = link.capacity;
    link.users = 0;
  }
  for (Transfer& transfer : transfers_) {
    transfer.fixed = false;
    transfer.rate = 0;
    for (const std::int32_t link : transfer.route) ++links_[static_cast<std::size_t>(link)].users;
  }
  for (std::int32_t tight = tightest(); tight >= 0; tight = tightest()) {
    const Link& bottleneck = links_[static_cast<std::size_t>(tight)];
    const double share = std::max(0.0, bottleneck.left / bottleneck.users);
    for (Transfer& transfer : transfers_) {
      if (transfer.fixed || std::find(transfer.route.begin(), transfer.route.end(), tight) == transfer.route.end()) continue;
      transfer.fixed = true;
      transfer.rate = share;
      for (const std::int32_t link : transfer.route) {
        links_[static_cast<std::size_t>(link)].left -= share;
        --links_[static_cast<std::size_t>(link)].users;
      }
    }
  }
}

void FairLinks::schedule_next() {
  events_.cancel(next_);
  next_ = {};
  if (transfers_.empty()) return;
  double soonest = static_cast<double>(kMaxSimTime.value());
  for (const Transfer& transfer : transfers_) {
    const bool arrived = transfer.route.empty() || transfer.left < kArrivedBytes;
    soonest = std::min(soonest, arrived ? 0 : transfer.left / transfer.rate);
  }
  const SimTime wait(static_cast<std::int64_t>(std::ceil(soonest)));
  next_ = events_.schedule({.time = events_.now() + wait, .priority = EventPriority::kTransfer, .target = this});
}

void FairLinks::on_event(const Event&) {
  advance();
  std::vector<std::pair<TransferOwner*, std::int64_t>> arrived;
  std::erase_if(transfers_, [&arrived](const Transfer& transfer) {
    if (!transfer.route.empty() && transfer.left >= kArrivedBytes) return false;
    arrived.emplace_back(transfer.owner, transfer.tag);
    return true;
  });
  fill();
  schedule_next();
  for (const auto& [owner, tag] : arrived) owner->on_transferred(tag);
}

}  // namespace shardplan
