// Messages whose numbers go another way than their envelopes: over NCCL from device to device, while who sent what
// when, sizes and failures still pass through the host.
#pragma once

#include <memory>

#include "calibrate/transport.h"

namespace shardplan {

// Numbers from rank to rank; between two ranks in the order they were sent.
class PayloadMover {
 public:
  virtual ~PayloadMover() = default;
  // Does not wait for the receiver.
  virtual void send(int from, int to, const std::vector<float>& values) = 0;
  // EnvironmentError when nothing has come after the timeout.
  virtual std::vector<float> receive(int from, int to, std::size_t count, Transport::Milliseconds timeout) = 0;
  // Forgets what was sent and not received, as after a run that failed. All processes of `envelopes` call it at once.
  virtual void renew(Transport& envelopes) = 0;
};

class PayloadTransport : public Transport {
 public:
  PayloadTransport(std::shared_ptr<Transport> envelopes, std::unique_ptr<PayloadMover> payloads);

  [[nodiscard]] int ranks() const override { return envelopes_->ranks(); }
  [[nodiscard]] std::vector<int> local_ranks(int used) const override { return envelopes_->local_ranks(used); }
  [[nodiscard]] bool several_processes() const override { return envelopes_->several_processes(); }
  void begin_run() override;
  void post(int from, int to, Message message) override;
  Message take(int from, int to, Milliseconds timeout) override;
  void note(int rank, const Operation& operation) override { envelopes_->note(rank, operation); }
  void fail(const std::string& message) override { envelopes_->fail(message); }
  [[nodiscard]] std::string failure() override { return envelopes_->failure(); }
  std::vector<std::string> share(std::string mine, Milliseconds timeout) override {
    return envelopes_->share(std::move(mine), timeout);
  }

 private:
  std::shared_ptr<Transport> envelopes_;
  std::unique_ptr<PayloadMover> payloads_;
};

}  // namespace shardplan
