#include "planner/data_movement.h"

#include <algorithm>

#include "tests/catch.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

std::vector<DataMovement> rows_of(const PlanRequest& request, const ParallelConfig& config) {
  return data_movement(request, estimate_config(request, config, {}), {});
}

const DataMovement& row(const std::vector<DataMovement>& rows, const std::string& what, const std::string& from) {
  const auto it =
      std::find_if(rows.begin(), rows.end(), [&](const DataMovement& r) { return r.what == what && r.from == from; });
  REQUIRE(it != rows.end());
  return *it;
}

TEST_CASE("Weights load over storage, PCIe and network, and the slowest is what a start waits for") {
  // 8 H100 at TP 8: each takes an eighth of 131.4 GiB over 64 GB/s, the host reads all of it at 7 GB/s or over 400
  // GB/s.
  const PlanRequest request = request_for({.model = "llama-3.1-70b", .hardware = "h100-sxm", .engine = "vllm"});
  const auto rows = rows_of(request, degrees(8));
  const DataMovement& storage = row(rows, "weights", "storage");
  CHECK(storage.bytes == Approx(70'553'706'496 * 2.0));
  CHECK(storage.time.value() == Approx(storage.bytes / 7e9));
  CHECK(storage.critical);
  const DataMovement& pcie = row(rows, "weights", "host");
  CHECK(pcie.time.value() == Approx(70'553'706'496 * 2.0 / 8 / 64e9).epsilon(0.01));
  CHECK_FALSE(pcie.critical);
  CHECK(row(rows, "weights", "another host").time.value() == Approx(storage.bytes / (8 * 50e9)).epsilon(0.001));
}

TEST_CASE("Replicas on one host read the checkpoint once, and spare experts are loaded without being read") {
  const PlanRequest request = request_for({.model = "qwen3-30b-a3b", .hardware = "h100-sxm", .engine = "vllm"});
  ParallelConfig config = moe_degrees(1, 4, true);
  const double once = row(rows_of(request, config), "weights", "storage").bytes;
  config.replicas = 2;
  CHECK(row(rows_of(request, config), "weights", "storage").bytes == once);
  config.variant.redundant_experts = 4;
  const auto rows = rows_of(request, config);
  CHECK(row(rows, "weights", "storage").bytes == Approx(once));
  // One slot of 33 on every rank: 48 layers * 3 * 2048 * 768 * 2 B, on 8 ranks.
  CHECK(row(rows, "extra expert copies", "host").bytes == Approx(48.0 * 3 * 2048 * 768 * 2 * 8).epsilon(0.005));
}

TEST_CASE("A preempted request of the workload's length is swapped or computed again, whichever is faster") {
  PlanRequest request =
      request_for({.model = "llama-3.1-8b", .hardware = "h100-sxm", .engine = "vllm", .isl = 8000, .osl = 384});
  const auto rows = rows_of(request, degrees(1));
  const DataMovement& swap = row(rows, "cache swap", "device");
  const double bytes = 8192 * 131072.0;
  CHECK(swap.bytes == 2 * bytes);
  CHECK(swap.time.value() == Approx(2 * bytes / 64e9).epsilon(0.001));
  const DataMovement& again = row(rows, "cache recompute", "device");
  CHECK(swap.critical == (swap.time < again.time));
  CHECK(again.critical == !swap.critical);
  request.hardware.node.pcie.bandwidth = BytesPerSecond(1e9);  // a link so slow that computing wins
  CHECK(row(rows_of(request, degrees(1)), "cache recompute", "device").critical);
}

TEST_CASE("Host traffic of a step is ids and places in and ids out") {
  const PlanRequest request =
      request_for({.model = "llama-3.1-8b", .hardware = "h100-sxm", .engine = "vllm", .concurrency = 100});
  const auto rows = rows_of(request, degrees(2));
  CHECK(row(rows, "token ids", "host").bytes == 100 * 4 * 2);
  CHECK(row(rows, "positions and cache slots", "host").bytes == 100 * 16 * 2);
  CHECK(row(rows, "sampled tokens", "device").bytes == 100 * 4);
  CHECK(std::all_of(rows.begin(), rows.end(), [](const DataMovement& r) { return r.time.value() > 0; }));
}

TEST_CASE("A prompt's cache goes to the decode pool over what joins the two, and takes its length's bytes") {
  // 1,024 tokens of 131,072 B; inside one domain of 8 over NVLink, one rank to one rank, beyond it over a NIC each.
  PlanRequest request = request_for({.model = "llama-3.1-8b", .hardware = "h100-sxm", .engine = "vllm"});
  const Plan one = estimate_config(request, degrees(1), {}).plan;
  const DataMovement near = cache_hand_over(request, one, one);
  CHECK(near.bytes == 1024 * 131072.0);
  CHECK(near.link == "nvlink");
  request.hardware.node.domain = 1;
  const DataMovement far = cache_hand_over(request, one, one);
  CHECK(far.link == "nic");
  CHECK((far.time - near.time).value() == Approx(near.bytes / 50e9 - near.bytes / 450e9).epsilon(0.001));
}

}  // namespace
}  // namespace shardplan
