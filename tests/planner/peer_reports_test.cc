// Figures that users of other planners reported as wrong or missing, and defects found in their code: each as it comes
// out here. Numbers are computed from the facts of a config.
#include <algorithm>

#include "costmodel/expert_load.h"
#include "models/catalog.h"
#include "models/model_config.h"
#include "planner/serving.h"
#include "tests/catch.h"
#include "tests/planner/requests.h"
#include "tests/planner/start_up_rows.h"

namespace shardplan {
namespace {

double gib(double bytes) { return bytes / static_cast<double>(kGiB); }
double gib(Bytes bytes) { return gib(static_cast<double>(bytes.value())); }

ParallelConfig wide(std::int64_t tp, std::int64_t dpa, std::int64_t ep) {
  ParallelConfig config = degrees(tp, 1, dpa);
  config.ep = ep;
  if (dpa > 1) config.variant.moe_comm = MoeComm::kAllGather;
  return config;
}

Ledger ledger_of(const char* model, const ParallelConfig& config, const char* hardware = "h100-sxm") {
  return start({.model = model, .hardware = hardware, .config = config}).ledger;
}

double item(const StageLedger& stage, const std::string& owner) {
  double bytes = 0;
  for (const LedgerItem& i : stage.weights) bytes += i.owner == owner ? static_cast<double>(i.bytes.value()) : 0;
  return bytes;
}

EstimateResult step_of(const char* model, const ParallelConfig& config, std::int64_t batch, double context,
                       const char* hardware = "h100-sxm") {
  PlanRequest request = request_for({.model = model, .hardware = hardware, .gpus = config.gpus()});
  BareSteps steps{.given = true};
  steps.decode = {.decode_sequences = batch, .decode_context = context};
  return estimate_config(request, config, steps);
}

const CollectiveRow& all_reduce(const EstimateResult& result) {
  const auto it =
      std::find_if(result.decode.collectives.begin(), result.decode.collectives.end(),
                   [](const CollectiveRow& row) { return row.kind == "all_reduce" && row.name == "attention_out"; });
  REQUIRE(it != result.decode.collectives.end());
  return *it;
}

struct TokenBytes {
  const char* model;
  std::int64_t tp;
  double bytes;
  const char* why;
};

TEST_CASE("Cache of a token on a rank: KV heads and not query heads, the explicit head, the latent, replicated heads") {
  const std::vector<TokenBytes> table = {
      {"llama-3.1-8b", 1, 131072, "8 KV heads of 32 query heads"},
      {"llama-3.1-8b", 2, 65536, "one function for capacity and transfer"},
      {"deepseek-v3", 1, 70272, "61 * (512 + 64) * 2, not two latents"},
      {"qwen3-30b-a3b", 8, 48 * 2 * 128 * 2, "4 KV heads over 8 ranks leave one on each, not none"},
      {"llama-3.1-70b", 16, 80 * 2 * 128 * 2, "8 KV heads over 16 ranks"},
  };
  for (const TokenBytes& row : table) {
    INFO(row.model << " tp " << row.tp << ": " << row.why);
    const Ledger ledger = ledger_of(row.model, degrees(row.tp), "h200-sxm");
    CHECK(ledger.kv_bytes_per_token == row.bytes);
    CHECK(ledger.cache_bytes(0, 1024) == row.bytes * 1024);
  }
}

TEST_CASE("Qwen3-4B's cache follows its head_dim of 128, not 2560 / 32") {
  const ModelSpec model =
      read_model_config(R"({"model_type": "qwen3", "hidden_size": 2560, "num_hidden_layers": 36, "vocab_size": 151936,
    "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 9728, "tie_word_embeddings": true})",
                        "", "qwen3-4b");
  CHECK(cache_bytes_per_token(model, *model.kv_format) == Bytes(147456));
  CHECK(start(model, {}).ledger.kv_bytes_per_token == 147456);
}

TEST_CASE("Two KV heads at TP 4 are one on each rank, and two in all") {
  const double whole = ledger_of("qwen3.5-122b-a10b", degrees(1), "b200-sxm").kv_bytes_per_token;
  CHECK(ledger_of("qwen3.5-122b-a10b", degrees(2), "b200-sxm").kv_bytes_per_token == whole / 2);
  CHECK(ledger_of("qwen3.5-122b-a10b", degrees(4), "b200-sxm").kv_bytes_per_token == whole / 2);
}

TEST_CASE("A decode step reads K and V once per KV head: 16 MiB of a layer at 4,096 positions, 8 heads of 128") {
  const EstimateResult result = step_of("llama-3.1-70b", degrees(1), 1, 4096);
  double read = 0;
  for (const OpRow& row : result.decode.ops) read += row.kv_bytes;
  CHECK(read == 16'777'216);
}

TEST_CASE("All weights are resident: embedding and head, and every expert") {
  CHECK(count_parameters(load_model("llama-3.1-70b")).total() == 70'553'706'496);
  CHECK(gib(weight_bytes(load_model("llama-3.1-70b"))) == Approx(131.42).epsilon(0.0001));
  const StageLedger llama = ledger_of("llama-3.1-8b", degrees(1)).stages.front();
  CHECK(item(llama, "embedding") == Approx(128256.0 * 4096 * 2).epsilon(0.002));
  CHECK(item(llama, "head") == Approx(128256.0 * 4096 * 2).epsilon(0.002));
  const ModelSpec large = load_model("qwen3.5-122b-a10b");
  const auto total =
      static_cast<double>(count_parameters(large).total() + count_mtp_parameters(large) + large.vision_parameters);
  CHECK(gib(total * 0.58) == Approx(67.6).epsilon(0.005));
  CHECK_FALSE(start({.model = "qwen3.5-122b-a10b", .hardware = "l40s", .weight_format = "mxfp4_a16"}).ledger.fits);
}

TEST_CASE("Cache blocks and everything else stay within the fraction of one GPU's memory at any TP") {
  for (const auto& [tp, blocks] : std::vector<std::pair<std::int64_t, double>>{{2, 62'600}, {4, 135'800}, {8, 0}}) {
    const Ledger ledger = ledger_of("llama-3.1-8b", degrees(tp));
    const StageLedger& stage = ledger.stages.front();
    const double held = static_cast<double>(ledger.kv_capacity_tokens) * ledger.kv_bytes_per_token;
    INFO("tp " << tp << ": " << ledger.kv_capacity_tokens / 16 << " blocks");
    CHECK(held + static_cast<double>((stage.weights_bytes + stage.activation_bytes + stage.workspace_bytes).value()) <=
          static_cast<double>(ledger.capacity_bytes.value()));
    if (blocks > 0) CHECK(static_cast<double>(ledger.kv_capacity_tokens) / 16 == Approx(blocks).epsilon(0.05));
  }
}

TEST_CASE("Routed experts take the same of a GPU at TP 16 with DP 2 whether experts are whole or sliced") {
  CHECK(ledger_of("kimi-k3", wide(16, 2, 32), "h200-sxm").fits);
  const auto experts = [](bool whole) {  // in a format whose slices are not padded
    const StartUp what{
        .model = "kimi-k3", .hardware = "h200-sxm", .weight_format = "fp8", .config = wide(16, 2, whole ? 32 : 1)};
    return item(start(what).ledger.stages.front(), "experts");
  };
  CHECK(experts(true) == Approx(experts(false)).epsilon(0.01));
  // Experts work in routed_expert_hidden_size, half of the model's width.
  const ModelSpec model = load_model("kimi-k3");
  const LayerKind& moe = *std::find_if(model.kinds.begin(), model.kinds.end(),
                                       [](const LayerKind& k) { return k.ffn.kind == FfnKind::kMoe; });
  CHECK(moe.ffn.expert_hidden * 2 == model.hidden);
}

TEST_CASE("Latency of a collective grows with its ranks and nodes") {
  double last = 0;
  for (const std::int64_t tp : {8, 16, 32, 64}) {
    const double seconds = all_reduce(step_of("llama-3.1-405b", degrees(tp), 1, 1024, "h200-sxm")).time.value();
    INFO("tp " << tp);
    CHECK(seconds > last);
    last = seconds;
  }
}

TEST_CASE("An all-reduce spans all ranks of the tensor group, and reduces in the switch inside one domain only") {
  for (const std::int64_t tp : {16, 32}) {
    const EstimateResult result = step_of("llama-3.1-405b", degrees(tp), 64, 1024);
    CHECK(all_reduce(result).group_size == tp);
    CHECK(all_reduce(result).algorithm != "nvls");
  }
}

TEST_CASE("A batch of three tokens hits 4.6 of 8 experts at top 2") {
  CHECK(distinct_experts(8, 2, 3) == Approx(4.625));
}

TEST_CASE("Cache moved for one request is that of its whole length") {
  const double all = ledger_of("deepseek-v3", degrees(8), "h200-sxm").kv_bytes_per_token * (4096 + 1024);
  CHECK(all == Approx(359.8e6).epsilon(0.0001));
  CHECK(all / (70272.0 * 2) == 2560);
}

TEST_CASE("Worker GPUs are the product of all degrees") {
  ParallelConfig worker;
  worker.pcp = 8;
  CHECK(worker.instance_gpus() == 8);
  worker.replicas = 9;
  CHECK(worker.gpus() == 72);
  CHECK(degrees(2, 3, 4).instance_gpus() == 24);
}

TEST_CASE("A pipeline goes at its slowest stage: a head on the last of 8 stages leaves 6.65 of 8") {
  std::vector<Seconds> stages(8, Seconds(3.150e-3));
  stages.front() = Seconds(3.153e-3);
  stages.back() = Seconds(3.901e-3);
  const double cycle = pipeline_cycle(stages, Seconds(0), 8).value();
  CHECK(cycle == Approx(3.901e-3));
  CHECK((3.153e-3 + 6 * 3.150e-3 + 3.901e-3) / cycle == Approx(6.65).epsilon(0.001));
}

struct Misfit {
  StartUp what;
  const char* why;
};

TEST_CASE("What does not fit is not planned") {
  StartUp llama{.model = "llama-3.3-70b",
                .version = "0.16",
                .weight_format = "fp8",
                .memory_fraction = 0.95,
                .max_model_len = 16000};
  StartUp long_context = llama;
  long_context.max_model_len = 131072;
  const std::vector<Misfit> table = {
      {{.model = "deepseek-r1", .config = wide(1, 8, 8)}, "671 GB of weights on 8 H100"},
      {{.model = "deepseek-r1", .config = wide(8, 1, 8)}, "the same with attention split"},
      {{.model = "llama-3.1-405b"}, "810 GB of weights on one H100"},
      {llama, "67.7 GiB of weights and activations leave less than a request of 16,000 tokens"},
      {long_context, "one request takes 40 GiB"},
  };
  for (const Misfit& row : table) {
    INFO(row.what.model << ": " << row.why);
    const Ledger ledger = start(row.what).ledger;
    CHECK_FALSE(ledger.fits);
    CHECK_FALSE(ledger.misfit.empty());
  }
  CHECK(gib(start(llama).ledger.stages.front().weights_bytes) == Approx(67.72).epsilon(0.01));
}

TEST_CASE("One request of 131,072 tokens of Llama-3.1-70B takes 40 GiB, 20 at TP 2") {
  CHECK(gib(ledger_of("llama-3.1-70b", degrees(1)).cache_bytes(0, 131072)) == 40);
  CHECK(gib(ledger_of("llama-3.1-70b", degrees(2)).cache_bytes(0, 131072)) == 20);
}

TEST_CASE("A plan takes no more GPUs than there are, no fewer than hold the weights, and may take all of a node") {
  for (const char* model : {"deepseek-r1", "gpt-oss-120b"}) {
    PlanRequest request = request_for({.model = model, .hardware = "h100-sxm", .gpus = 32, .engine = "vllm"});
    request.pareto = false;
    const PlanResult result = search_plans(request);
    REQUIRE(!result.plans.empty());
    for (const Plan& plan : result.plans) {
      CHECK(plan.config.gpus() <= 32);
      if (std::string(model) == "deepseek-r1") CHECK(plan.config.instance_gpus() >= 16);
    }
  }
  PlanRequest eight = request_for({.model = "llama-3.1-70b", .hardware = "h100-sxm", .engine = "vllm"});
  fix(eight, degrees(8), {"tp"});
  CHECK(!search_plans(eight).plans.empty());
}

TEST_CASE("Requests in flight are rate times time, so that 384 cannot be where 192 tokens/s go at 44.6 each") {
  CHECK(192.44 * 8 / 44.59 == Approx(34.5).epsilon(0.01));
  const PlanRequest request =
      request_for({.model = "llama-3.1-8b", .hardware = "h100-sxm", .engine = "vllm", .concurrency = 64});
  const ServingEstimate serving = estimate_config(request, degrees(1), {}).plan.serving;
  CHECK(serving.requests_per_second * serving.e2e.value() == Approx(64).epsilon(0.01));
}

TEST_CASE("Four pipeline stages are estimated as two are") {
  for (const char* model : {"llama-3.1-8b", "qwen3-30b-a3b"}) {
    for (const std::int64_t pp : {2, 4}) {
      const EstimateResult result =
          estimate_config(request_for({.model = model, .hardware = "h100-sxm", .engine = "vllm"}), degrees(1, pp), {});
      CHECK(result.violations.empty());
      CHECK(result.plan.serving.feasible);
    }
  }
}

TEST_CASE("Tokens of a hybrid cache are its budget over what a token takes of it") {
  // gemma-4-31b on an H200: 64.68 GiB hold 626,949 tokens, 108.2 KiB each: global layers grow, sliding ones do not.
  const Ledger ledger =
      start({.model = "gemma-4-31b", .hardware = "h200-sxm", .version = "0.22", .max_model_len = 262144}).ledger;
  const double each =
      static_cast<double>(ledger.stages.front().kv_pool_bytes.value()) / static_cast<double>(ledger.kv_capacity_tokens);
  CHECK(each / 1024 == Approx(108.2).epsilon(0.001));
}

}  // namespace
}  // namespace shardplan
