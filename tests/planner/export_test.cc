// Launch files against golden ones. SHARDPLAN_ACCEPT=1 writes them (tests/planner/accept_goldens.sh), never in CI.
#include <cstdlib>

#include "base/file.h"
#include "planner/cluster.h"
#include "planner/deployment.h"
#include "planner/export/launch.h"
#include "tests/base/message_of.h"
#include "tests/catch.h"
#include "tests/planner/launch_cases.h"
#include "tests/planner/requests.h"

namespace shardplan {
namespace {

// A plan of `config` with made-up predictions: a golden file must not move with every price.
Plan plan_of(const PlanRequest& request, const ParallelConfig& config) {
  const Cluster cluster(request, config.instance_gpus());
  Plan plan = Deployment(request, config, {}, cluster.collectives()).plan();
  plan.serving.ttft = Seconds(0.25);
  plan.serving.tpot = Seconds(0.02);
  plan.serving.output_tokens_per_second = 1234;
  plan.serving.concurrency = 64;
  return plan;
}

// Every file of a launch against tests/planner/golden/<name>.<ending>, and all of them against the checker.
void check_golden(const std::string& name, const PlanRequest& request, const Launch& launch) {
  REQUIRE(launch.refused.empty());
  CHECK(faults_of(request, launch) == std::vector<std::string>{});
  for (const LaunchFile& file : launch.files) {
    const std::string path = std::string(SHARDPLAN_PLANNER_GOLDEN) + "/" + name + file.name.substr(launch.engine.size());
    if (std::getenv("SHARDPLAN_ACCEPT") != nullptr) write_file_atomically(path, file.content);
    CHECK(read_file(path, 1 << 20) == file.content);
    if (file.executable) CHECK(std::system(("bash -n " + path).c_str()) == 0);
  }
}

TEST_CASE("A replica inside a node", "[golden]") {
  const PlanRequest request = request_for({.model = "llama-3.1-70b", .gpus = 8, .engine = "vllm"});
  ParallelConfig config = degrees(2);
  config.replicas = 4;
  check_golden("llama_tp2_replicas4", request, export_plan(request, plan_of(request, config)));
}

TEST_CASE("Pipeline stages over two nodes with a split of one's own", "[golden]") {
  const PlanRequest request =
      request_for({.model = "llama-3.1-405b", .hardware = "h100-sxm", .gpus = 16, .engine = "vllm"});
  ParallelConfig config = degrees(8, 2);
  config.pp_layers = {64, 62};
  check_golden("llama_405b_tp8_pp2", request, export_plan(request, plan_of(request, config)));
}

TEST_CASE("Attention groups with whole experts over two nodes", "[golden]") {
  const PlanRequest request = request_for({.model = "deepseek-v3", .gpus = 16, .engine = "vllm"});
  ParallelConfig config = moe_degrees(2, 8, true);
  config.variant.moe_comm = MoeComm::kAllToAll;
  config.variant.redundant_experts = 16;
  check_golden("deepseek_dp8_tp2_ep16", request, export_plan(request, plan_of(request, config)));
}

TEST_CASE("A cache split by positions, in FP8", "[golden]") {
  PlanRequest request = request_for({.model = "qwen3-235b-a22b", .gpus = 8, .engine = "vllm"});
  request.kv_format = find_format("fp8");
  request.engine_version = "0.19";
  ParallelConfig config = moe_degrees(8, 1, true);
  config.dcp = 2;
  config.variant.dcp_comm = DcpComm::kA2a;
  check_golden("qwen3_tp8_dcp2", request, export_plan(request, plan_of(request, config)));
}

TEST_CASE("Attention groups on two nodes for SGLang", "[golden]") {
  const PlanRequest request = request_for({.model = "deepseek-v3", .gpus = 16, .engine = "sglang"});
  ParallelConfig config = moe_degrees(1, 16, true);
  config.variant.moe_comm = MoeComm::kAllToAll;
  check_golden("sglang_deepseek_dp16_ep16", request, export_plan(request, plan_of(request, config)));
}

TEST_CASE("Replicas inside a node for TensorRT-LLM", "[golden]") {
  const PlanRequest request = request_for({.model = "qwen3-235b-a22b", .hardware = "b200-sxm", .gpus = 8, .engine = "trtllm"});
  ParallelConfig config = moe_degrees(4, 1, true);
  config.replicas = 2;
  check_golden("trtllm_qwen3_tp4_ep4", request, export_plan(request, plan_of(request, config)));
}

TEST_CASE("Attention DP over two nodes for TensorRT-LLM", "[golden]") {
  const PlanRequest request = request_for({.model = "deepseek-v3", .gpus = 16, .engine = "trtllm"});
  ParallelConfig config = moe_degrees(1, 16, true);
  config.variant.moe_comm = MoeComm::kAllToAll;
  config.variant.redundant_experts = 32;
  check_golden("trtllm_deepseek_adp16", request, export_plan(request, plan_of(request, config)));
}

TEST_CASE("Whole experts on two nodes for RTP-LLM", "[golden]") {
  const PlanRequest request = request_for({.model = "deepseek-v3", .gpus = 16, .engine = "rtp-llm"});
  ParallelConfig config = moe_degrees(2, 8, true);
  config.variant.moe_comm = MoeComm::kAllToAll;
  check_golden("rtp_llm_deepseek_dp8_tp2", request, export_plan(request, plan_of(request, config)));
}

TEST_CASE("Registered buffers are asked for in each engine's words, and their checker knows them") {
  for (const auto& [engine, words] : {std::pair("vllm", "VLLM_USE_NCCL_SYMM_MEM=1"), std::pair("sglang", "--enable-symm-mem"), std::pair("trtllm", "NCCL_SYMMETRIC")}) {
    INFO(engine);
    PlanRequest request = request_for({.model = "llama-3.1-70b", .gpus = 8, .engine = engine});
    const auto text_of = [&] {
      const Launch launch = export_plan(request, plan_of(request, degrees(8)));
      CHECK(faults_of(request, launch) == std::vector<std::string>{});
      std::string text;
      for (const LaunchFile& file : launch.files) text += file.content;
      return text;
    };
    CHECK(text_of().find(words) == std::string::npos);
    request.price.symmetric_memory = true;
    CHECK(text_of().find(words) != std::string::npos);
  }
}

TEST_CASE("What vLLM cannot run is refused with the reason") {
  const PlanRequest request = request_for({.model = "deepseek-v3", .gpus = 8});
  ParallelConfig config = moe_degrees(8, 1, true);
  config.dcp = 2;
  config.variant.helix = true;
  const Launch launch = export_plan(request, plan_of(request, config));
  CHECK(launch.files.empty());
  CHECK_THAT(launch.refused, contains_text("Helix"));
}

TEST_CASE("A hostile model name stays a word") {
  PlanRequest request = request_for({.gpus = 1, .engine = "vllm"});
  request.model.hf_id = "x'; touch /tmp/owned; echo \n'";
  const Launch launch = export_plan(request, plan_of(request, {}));
  CHECK_THAT(launch.command, contains_text("'x'\\''; touch"));
}

TEST_CASE("An engine without an exporter is an input error") {
  const PlanRequest request = request_for({.gpus = 1});
  CHECK_THAT(message_of([&] { (void)export_plan(request, plan_of(request, {}), "vlm"); }), contains_text("vllm"));
}

}  // namespace
}  // namespace shardplan
