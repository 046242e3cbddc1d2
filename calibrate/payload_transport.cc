#include "calibrate/payload_transport.h"

#include <utility>

#include "base/errors.h"

namespace shardplan {

PayloadTransport::PayloadTransport(std::shared_ptr<Transport> envelopes, std::unique_ptr<PayloadMover> payloads)
    : envelopes_(std::move(envelopes)), payloads_(std::move(payloads)) {}

void PayloadTransport::begin_run() {
  const bool failed = !envelopes_->failure().empty();
  envelopes_->begin_run();
  if (failed) payloads_->renew(*envelopes_);
}

// The last of the envelope's ids is how many numbers follow.
void PayloadTransport::post(int from, int to, Message message) {
  message.ids.push_back(static_cast<std::int64_t>(message.values.size()));
  if (!message.values.empty()) payloads_->send(from, to, message.values);
  message.values.clear();
  envelopes_->post(from, to, std::move(message));
}

Message PayloadTransport::take(int from, int to, Milliseconds timeout) {
  Message message = envelopes_->take(from, to, timeout);
  ensure(!message.ids.empty() && message.ids.back() >= 0, "an envelope without its count");
  const auto count = static_cast<std::size_t>(message.ids.back());
  message.ids.pop_back();
  if (count > 0) message.values = payloads_->receive(from, to, count, timeout);
  return message;
}

}  // namespace shardplan
