// Messages of a check over NCCL's sends and receives, emulated between threads.
#include <thread>

#include "calibrate/check/check_case.h"
#include "calibrate/cuda/nccl_mover.h"
#include "calibrate/payload_transport.h"
#include "calibrate/proof.h"
#include "calibrate/small_models.h"
#include "calibrate/thread_transport.h"
#include "tests/catch.h"

namespace shardplan::cuda {
namespace {

TEST_CASE("messages arrive in order, longer ones after shorter ones, both directions at once") {
  NcclMover mover(2);
  const auto speak = [&](int own, int other) {
    for (int round = 0; round < 50; ++round) {
      mover.send(
          own, other,
          std::vector<float>(static_cast<std::size_t>(1 + round * 7 % 40), static_cast<float>(own * 1000 + round)));
    }
  };
  bool right = true;
  const auto listen = [&](int own, int other) {
    for (int round = 0; round < 50; ++round) {
      const std::size_t count = static_cast<std::size_t>(1 + round * 7 % 40);
      const auto values = mover.receive(other, own, count, Transport::Milliseconds(5000));
      right = right && values == std::vector<float>(count, static_cast<float>(other * 1000 + round));
    }
  };
  std::thread zero([&] {
    speak(0, 1);  // all before it listens: a send never waits for its receiver
    listen(0, 1);
  });
  std::thread one([&] {
    speak(1, 0);
    listen(1, 0);
  });
  zero.join();
  one.join();
  CHECK(right);
}

TEST_CASE("sharded steps over the device's messages are the unsharded ones, and their bytes those of the graphs") {
  const auto cases = check_cases({small_moe(), small_latent()}, 4);
  for (std::size_t i = 0; i < cases.size(); i += 17) {
    const auto ranks = static_cast<int>(cases[i].config.instance_gpus());
    INFO(cases[i].model.name << " " << short_text(cases[i].config));
    ProofOptions options{.seed = 3, .invent_prefix = false};
    options.transport = std::make_shared<PayloadTransport>(std::make_shared<ThreadTransport>(ranks),
                                                           std::make_unique<NcclMover>(ranks));
    Proof proof(cases[i].model, cases[i].config, options);
    const ProofResult result =
        proof.step(StepForm::kPrefill, {{{10, 0, 7, Phase::kPrefill}, {11, 0, 5, Phase::kPrefill}}});
    CHECK(result.values.worst_share_ratio <= 1);
    CHECK(result.bytes.mismatches.empty());
  }
}

}  // namespace
}  // namespace shardplan::cuda
