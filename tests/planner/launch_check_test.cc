// The checker takes what we write, and finds what people break; and every configuration comes back from its flags.
#include <algorithm>

#include "models/catalog.h"
#include "planner/deployment.h"
#include "planner/export/read_script.h"
#include "planner/export/read_yaml.h"
#include "planner/search/enumerate.h"
#include "tests/base/message_of.h"
#include "tests/catch.h"
#include "tests/planner/launch_cases.h"

namespace shardplan {
namespace {

// What flags carry: no replicas, no split of one's own (it has its own test), nothing of another variant.
ParallelConfig comparable(ParallelConfig c) {
  c.replicas = 1;
  c.pp_layers.clear();
  return c;
}

struct Tried {
  std::int64_t configurations = 0;
  std::int64_t manifests = 0;
};

// Every legal configuration of a model for an engine: out to files, accepted, and back.
Tried try_all(const char* engine, const char* model, const char* hardware, std::int64_t gpus) {
  const PlanRequest request = request_for({.model = model, .hardware = hardware, .gpus = gpus, .engine = engine});
  Tried tried;
  for (const ParallelConfig& table : enumerate_tables(request)) {
    for (const std::int64_t pp : pipeline_depths(request, table.stage_ranks())) {
      ParallelConfig config = table;
      config.pp = pp;
      if (!violations_of(request, config).empty()) continue;
      const Launch launch = export_plan(request, made_plan(request, config));
      INFO(engine << " " << model << " " << short_text(config));
      REQUIRE(launch.refused.empty());
      REQUIRE(faults_of(request, launch) == std::vector<std::string>{});
      const Exporter& exporter = require_exporter(engine);
      const ParallelConfig back = exporter.read(read_launch(exporter, launch.files), request.model);
      INFO("back: " << short_text(back));
      REQUIRE(comparable(back) == comparable(config));
      ++tried.configurations;
      tried.manifests += std::any_of(launch.files.begin(), launch.files.end(),
                                     [](const LaunchFile& f) { return f.name.ends_with("-lws.yaml"); });
    }
  }
  return tried;
}

TEST_CASE("Every legal configuration is exported, accepted by the checker, and read back as it was", "[slow]") {
  for (const char* engine : {"vllm", "sglang", "trtllm", "rtp-llm"}) {
    INFO(engine);
    const Tried moe = try_all(engine, "qwen3-235b-a22b", "h200-sxm", 16);
    CHECK(moe.configurations > 10);
    CHECK(moe.manifests > 0);
    CHECK(try_all(engine, "llama-3.1-70b", "h100-sxm", 8).configurations > 3);
    CHECK(try_all(engine, "deepseek-v3", "b200-sxm", 32).configurations > 5);
  }
  for (const char* engine : {"vllm", "sglang", "trtllm"}) {
    for (const char* model :
         {"glm-5.2", "minimax-m3", "nemotron-3-super-120b-a12b", "llama-4-maverick", "qwen3.5-397b-a17b", "kimi-k3"}) {
      INFO(engine << " " << model);
      CHECK(try_all(engine, model, "h200-sxm", 16).configurations > 3);
    }
  }
}

TEST_CASE("Redundant experts, two-batch overlap and Helix come back too") {
  for (const char* engine : {"vllm", "sglang"}) {
    const PlanRequest request = request_for({.model = "deepseek-v3", .gpus = 16, .engine = engine});
    ParallelConfig config = moe_degrees(1, 16, true);
    config.variant.moe_comm = MoeComm::kAllToAll;
    config.variant.redundant_experts = 16;
    config.variant.overlap = Overlap::kTwoBatch;
    const Launch launch = export_plan(request, made_plan(request, config));
    CHECK(faults_of(request, launch) == std::vector<std::string>{});
    const Exporter& exporter = require_exporter(engine);
    CHECK(exporter.read(read_launch(exporter, launch.files), request.model) ==
          engine_of(request).settled(request.model, config));
  }
}

TEST_CASE("Helix for TensorRT-LLM's generation server is written with its context-parallel ranks") {
  const PlanRequest request = request_for({.model = "qwen3-235b-a22b", .engine = "trtllm"});
  ParallelConfig config = moe_degrees(8, 1, true);
  config.dcp = 2;
  config.variant.helix = true;
  const Exporter& exporter = require_exporter("trtllm");
  const EngineLaunch launch = exporter.write(request, made_plan(request, config), "1.3");
  CHECK(launch.config.text("tensor_parallel_size") == "4");
  CHECK(launch.config.text("context_parallel_size") == "2");
  CHECK(launch.config.text("cp_config.cp_type") == "HELIX");
  CHECK(exporter.read(launch.config, request.model) == config);
}

TEST_CASE("The checker names what is wrong with an edited file") {
  const PlanRequest request = request_for({.model = "qwen3-235b-a22b", .gpus = 8, .engine = "vllm"});
  const Launch launch = export_plan(request, made_plan(request, moe_degrees(8, 1, true)));
  const auto fault = [&](const std::string& from, const std::string& to) {
    const auto faults = faults_of(request, edited(launch, from, to));
    return faults.empty() ? std::string("accepted") : faults.front();
  };
  CHECK(faults_of(request, launch).empty());
  CHECK_THAT(fault("--block-size 16", "--blok-size 16"),
             contains_text("knows no --blok-size") && contains_text("--block-size"));
  CHECK_THAT(fault("--max-num-seqs 1024", "--max-num-seqs many"), contains_text("whole number"));
  CHECK_THAT(fault("--max-num-seqs 1024", "--max-num-seqs 20000"), contains_text("--max-num-batched-tokens"));
  CHECK_THAT(fault("--kv-cache-dtype bfloat16", "--kv-cache-dtype int3"), contains_text("one of"));
  CHECK_THAT(fault("--gpu-memory-utilization 0.92", "--gpu-memory-utilization 1.5"), contains_text("fraction"));
  CHECK_THAT(fault("--enable-chunked-prefill", "--enable-chunked-prefill --enable-chunked-prefill"),
             contains_text("given twice"));
  CHECK_THAT(fault("--tensor-parallel-size 8", "--tensor-parallel-size 7"), contains_text("cannot be split"));
  CHECK_THAT(fault("--decode-context-parallel-size 1", "--decode-context-parallel-size 4"),
             contains_text("exceeds the maximum"));
  CHECK_THAT(fault("--host 0.0.0.0", "stray"), contains_text("does not start with vllm serve"));
  CHECK_THAT(fault("--block-size 16", "--block-size 16 stray"), contains_text("'stray' is no flag"));
  CHECK_THAT(message_of([&] { (void)faults_of(request, edited(launch, "exec vllm", "run vllm")); }),
             contains_text("no exec of vllm"));
}

TEST_CASE("A flag of another version is refused") {
  PlanRequest request = request_for({.model = "llama-3.1-8b", .gpus = 1, .engine = "sglang"});
  request.engine_version = "0.5.12";
  const Launch old = export_plan(request, made_plan(request, {}));
  CHECK_THAT(file_named(old, ".sh").content, contains_text("--cuda-graph-max-bs "));
  CHECK(faults_of(request, old).empty());
  const auto faults = faults_of(request, edited(old, "--cuda-graph-max-bs ", "--cuda-graph-max-bs-decode "));
  REQUIRE(!faults.empty());
  CHECK_THAT(faults.front(), contains_text("sglang 0.5.12 has no --cuda-graph-max-bs-decode"));
}

TEST_CASE("SGLang's limits of seats and chunks are of all groups") {
  const PlanRequest request = request_for({.model = "deepseek-v3", .engine = "sglang"});
  ParallelConfig config = moe_degrees(1, 8, true);
  config.variant.moe_comm = MoeComm::kAllToAll;
  Plan plan = made_plan(request, config);
  plan.max_num_sequences = 32;
  plan.max_batched_tokens = 2048;
  const std::string script = file_named(export_plan(request, plan), ".sh").content;
  CHECK_THAT(script, contains_text("--max-running-requests 256"));
  CHECK_THAT(script, contains_text("--chunked-prefill-size 16384"));
  CHECK_THAT(script, contains_text("--mem-fraction-static 0.7"));  // (40 + 60) GiB of what is free
}

TEST_CASE("Manifests need as many pods as the command has GPUs") {
  const PlanRequest request = request_for({.model = "deepseek-v3", .gpus = 32, .engine = "trtllm"});
  ParallelConfig config = moe_degrees(1, 16, true);
  config.replicas = 2;
  const Launch launch = export_plan(request, made_plan(request, config));
  CHECK(faults_of(request, launch) == std::vector<std::string>{});
  const ReadManifest set = read_manifest(file_named(launch, "-lws.yaml").content, "x");
  CHECK(set.replicas == 2);
  CHECK(set.nodes == 2);
  CHECK(set.gpus == 8);
  CHECK_THAT(faults_of(request, edited(launch, "size: 2", "size: 3")).back(), contains_text("3 pods of 8 GPUs"));
  CHECK_THAT(
      faults_of(request, edited(launch, "name: \"shm\"\n            emptyDir", "name: \"other\"\n            emptyDir"))
          .front(),
      contains_text("no volume"));
  CHECK_THAT(faults_of(request, edited(launch, "backend: \"CUTLASS\"", "backend: \"FAST\"")).front(),
             contains_text("moe_config.backend is one of"));
  CHECK_THAT(faults_of(request, edited(launch, "max_beam_width", "max_beams")).front(),
             contains_text("knows no max_beams"));
}

TEST_CASE("Words of a script are read as bash reads them") {
  const auto words = split_words(R"(a 'b c' "d $E" --f=$((NODE * 8)) g\ h '{"x": 1}' # comment)");
  REQUIRE(words.size() == 6);
  CHECK(words[1].text == "b c");
  CHECK(words[2].is_expression);
  CHECK(words[3].text == "--f=$((NODE * 8))");
  CHECK(words[4].text == "g h");
  CHECK(words[5].text == R"({"x": 1})");
  CHECK_THAT(message_of([] { (void)split_words("'open"); }), contains_text("left open"));
  CHECK_THAT(message_of([] { (void)read_yaml_arguments("a: [1", "f.yaml"); }), contains_text("f.yaml"));
}

}  // namespace
}  // namespace shardplan
