// SGLang's command line.
//
// --tp-size counts all GPUs of a stage. Seats and the chunk are global there, and per attention group in a plan: both
// are multiplied by dp. --mem-fraction-static is the share that the plan's own weights and cache take of what is free.
#include "planner/engines/sglang.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "costmodel/lowering/modules.h"
#include "planner/deployment.h"
#include "planner/export/exporters.h"
#include "planner/export/placement.h"

namespace shardplan {
namespace {

std::string cache_dtype(const NumberFormat& format) {
  if (format.name == "fp8") return "fp8_e4m3";
  if (format.name == "bf16") return "bf16";
  return format.name == "nvfp4" ? "fp4_e2m1" : "auto";
}

// FP8 blocks behind DeepEP run in DeepGEMM; else SGLang picks by GPU and format.
std::string moe_runner(const ModelSpec& model, const char* backend) {
  const bool blocks = std::any_of(model.kinds.begin(), model.kinds.end(), [](const LayerKind& kind) {
    return kind.ffn.kind == FfnKind::kMoe && kind.formats.experts != nullptr &&
           kind.formats.experts->name == "fp8_block";
  });
  return blocks && std::string_view(backend) == "deepep" ? "deep_gemm" : "auto";
}

void add_sizes(Arguments& out, const ParallelConfig& c) {
  out.set("--tp-size", c.stage_ranks()).set("--pp-size", c.pp).set("--dp-size", c.dpa);
  if (c.dpa > 1) out.turn_on("--enable-dp-attention").turn_on("--enable-dp-lm-head");
  if (c.pcp > 1) {
    out.set("--attn-cp-size", c.pcp).turn_on("--enable-prefill-cp");
    out.set("--cp-strategy", c.variant.pcp_layout == PcpLayout::kStriped ? "interleave" : "zigzag");
  }
  if (c.dcp == 1) return;
  out.set("--dcp-size", c.dcp).set("--dcp-comm-backend", std::string(name_of(c.variant.dcp_comm)));
  if (c.variant.q_replicate) out.turn_on("--dcp-replicate-q-proj");
}

void add_experts(Arguments& out, const PlanRequest& request, const ParallelConfig& c) {
  if (c.dpa > 1 && dense_width(request.model, c) == 1) out.set("--moe-dense-tp-size", 1);
  if (!request.model.is_moe()) return;
  const char* backend = c.variant.elastic_ep ? "nixl" : sglang_all_to_all(request.model, c, request.hardware);
  out.set("--ep-size", c.ep).set("--moe-a2a-backend", backend);
  if (std::string_view(backend) == "deepep") out.set("--deepep-mode", "auto");
  out.set("--moe-runner-backend", moe_runner(request.model, backend));
  if (c.moe_dp > 1) out.set("--moe-dp-size", c.moe_dp);
  if (c.variant.redundant_experts > 0) {
    out.turn_on("--enable-eplb").set("--ep-num-redundant-experts", c.variant.redundant_experts);
  }
  if (c.variant.elastic_ep) {
    out.set("--elastic-ep-backend", "mooncake").turn_on("--disable-cuda-graph").set("--load-balance-method", "round_robin");
  }
  if (c.variant.overlap == Overlap::kTwoBatch) out.turn_on("--enable-two-batch-overlap");
}

// A chain of drafts: one step and one branch for each. Several modules are chained by a flag of their own.
void add_speculation(Arguments& out, const ModelSpec& model, const ParallelConfig& c) {
  const std::int64_t drafts = c.variant.speculative_tokens;
  if (drafts == 0) return;
  out.set("--speculative-algorithm", "EAGLE").set("--speculative-num-steps", drafts);
  out.set("--speculative-eagle-topk", 1).set("--speculative-num-draft-tokens", verified_tokens(drafts));
  if (model.mtp_modules > 1 && drafts > 1) out.turn_on("--enable-multi-layer-eagle");
}

// (weights + cache) / what is free before the weights, of the stage with the least: elsewhere activations keep room.
double static_fraction(const PlanRequest& request, const Plan& plan) {
  const EngineMemory memory = memory_of(request, plan.config);
  double least = 1;
  for (const StageLedger& stage : plan.ledger.stages) {
    const Bytes free = plan.ledger.device_bytes - memory.held - (stage.workspace_bytes - memory.graphs);
    least = std::min(least, (stage.weights_bytes + stage.kv_pool_bytes) / free);
  }
  return std::floor(least * 1000 + 1e-6) / 1000;
}

void add_memory(Arguments& out, const PlanRequest& request, const Plan& plan, const std::string& version) {
  const ParallelConfig& c = plan.config;
  out.set("--mem-fraction-static", fmt::format("{:.3f}", static_fraction(request, plan)));
  out.set("--context-length", context_of(request)).set("--max-running-requests", plan.max_num_sequences * c.dpa);
  const bool renamed = parse_version(version) >= Version{0, 5, 15};
  out.set(renamed ? "--cuda-graph-max-bs-decode" : "--cuda-graph-max-bs", plan.max_num_sequences);
  out.set("--chunked-prefill-size", plan.max_batched_tokens * c.dpa)
      .set("--max-prefill-tokens", std::max<std::int64_t>(16384, plan.max_batched_tokens));
  out.set("--kv-cache-dtype", cache_dtype(*formats_of(request).kv))
      .set("--page-size", memory_of(request, c).block_size);
  out.set("--dtype", formats_of(request).activation->name == "fp16" ? "float16" : "bfloat16");
  if (quantises_on_load(request.model)) out.set("--quantization", "fp8");
}

EngineLaunch write(const PlanRequest& request, const Plan& plan, const std::string& version) {
  const ParallelConfig& c = plan.config;
  EngineLaunch launch;
  launch.program = {"python3", "-m", "sglang.launch_server"};
  launch.command.set("--model-path", checkpoint_of(request.model));
  launch.command.set("--host", "0.0.0.0").compute("--port", "\"$PORT\"");
  add_sizes(launch.command, c);
  add_experts(launch.command, request, c);
  add_speculation(launch.command, request.model, c);
  add_memory(launch.command, request, plan, version);
  if (request.price.symmetric_memory) launch.command.turn_on("--enable-symm-mem");
  if (nodes_of(request, c) > 1) {
    launch.command.set("--nnodes", nodes_of(request, c)).compute("--node-rank", "\"$NODE\"");
    launch.command.compute("--dist-init-addr", "\"$MASTER_ADDR:20000\"");
  }
  const std::string split = own_split(request, plan, "sglang");
  if (!split.empty()) launch.environment.set("SGLANG_PP_LAYER_PARTITION", split);
  launch.image = "lmsysorg/sglang:v" + full_version(version);
  launch.notes = common_notes(request, plan, true);
  if (c.variant.elastic_ep)
    launch.notes.emplace_back(
        "Mooncake and NIXL must be installed; scaling runs without CUDA graphs, which the prices do not know. Ranks to be "
        "added are started with --elastic-ep-join-mode and --elastic-ep-join-rank-offset; --max-ep-size bounds them");
  if (launch.command.text("--moe-a2a-backend") == "deepep")
    launch.notes.emplace_back(
        "DeepEP must be installed; SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK caps tokens of one dispatch (1024 at "
        "most)");
  return launch;
}

ParallelConfig read(const Arguments& a, const ModelSpec& model) {
  ParallelConfig c;
  const std::int64_t stage = a.degree("--tp-size");
  c.pp = a.degree("--pp-size");
  c.dpa = a.has("--enable-dp-attention") ? a.degree("--dp-size") : 1;
  c.pcp = a.degree("--attn-cp-size");
  c.tp = std::max<std::int64_t>(1, stage / std::max<std::int64_t>(1, c.dpa * c.pcp));
  c.dcp = a.degree("--dcp-size");
  Variant& v = c.variant;
  v.dcp_comm = a.text("--dcp-comm-backend", "ag_rs") == "ag_rs" ? DcpComm::kAgRs : DcpComm::kA2a;
  v.q_replicate = a.has("--dcp-replicate-q-proj");
  v.pcp_layout = a.text("--cp-strategy") == "interleave" ? PcpLayout::kStriped : PcpLayout::kZigzag;
  if (a.has("--speculative-algorithm")) v.speculative_tokens = a.count("--speculative-num-steps", 0);
  if (a.has("--enable-two-batch-overlap")) v.overlap = Overlap::kTwoBatch;
  if (a.text("--moe-dense-tp-size") == "1") c.dense_tp = 1;
  if (!model.is_moe()) return c;
  const bool sends = a.text("--moe-a2a-backend", "none") != "none";
  c.ep = sends ? stage : a.degree("--ep-size");
  c.moe_dp = a.degree("--moe-dp-size");
  c.moe_tp = std::max<std::int64_t>(1, stage / (c.ep * c.moe_dp));
  const bool gathers = c.dpa > 1 || (c.pcp > 1 && c.moe_dp == 1);
  v.moe_comm = sends ? MoeComm::kAllToAll : gathers ? MoeComm::kAllGather : MoeComm::kReplicated;
  v.redundant_experts = a.count("--ep-num-redundant-experts", 0);
  v.elastic_ep = a.text("--elastic-ep-backend", "none") != "none";
  if (c.dpa > 1 && c.dense_tp == 0) c.dense_tp = stage;
  return require_engine("sglang").settled(model, c);
}

std::vector<std::string> conflicts(const Arguments& a) {
  std::vector<std::string> out;
  const std::int64_t tp = a.degree("--tp-size");
  const std::int64_t dp = a.degree("--dp-size");
  const std::int64_t groups = dp * a.degree("--attn-cp-size");
  if (a.has("--enable-dp-attention") && tp % groups != 0)
    out.push_back(fmt::format("--tp-size {} does not divide by --dp-size x --attn-cp-size {}", tp, groups));
  if (a.has("--enable-dp-attention") && dp == 1)
    out.emplace_back("--enable-dp-attention is turned off silently by --dp-size 1");
  if (!a.has("--enable-dp-attention") && dp > 1)
    out.emplace_back("--dp-size without --enable-dp-attention makes replicas");
  if (a.has("--enable-dp-lm-head") && !a.has("--enable-dp-attention"))
    out.emplace_back("--enable-dp-lm-head needs --enable-dp-attention");
  if (tp * a.degree("--pp-size") % a.degree("--nnodes") != 0) out.emplace_back("tp x pp does not divide by --nnodes");
  if (a.has("--enable-prefill-cp") && !a.has("--cp-strategy"))
    out.emplace_back("--enable-prefill-cp needs --cp-strategy");
  const std::string backend = a.text("--moe-a2a-backend", "none");
  const std::int64_t ep = a.degree("--ep-size");
  if (backend != "none" && ep != tp)
    out.push_back(fmt::format("--moe-a2a-backend {} forces --ep-size {}", backend, tp));
  if (backend == "flashinfer" && (!a.has("--enable-dp-attention") || dp != tp))
    out.emplace_back("--moe-a2a-backend flashinfer needs dp attention with dp = tp");
  if (backend == "pplx" && dp < 2) out.emplace_back("--moe-a2a-backend pplx needs --dp-size 2 or more");
  if (ep < 1 || tp % ep != 0) out.push_back(fmt::format("--tp-size {} does not divide by --ep-size {}", tp, ep));
  const std::string runner = a.text("--moe-runner-backend", "auto");
  if (runner.starts_with("flashinfer_cut") && ep != 1 && ep != tp)
    out.push_back(fmt::format("--moe-runner-backend {} needs --ep-size 1 or {}", runner, tp));
  const bool chain = a.text("--speculative-eagle-topk", "1") == "1";
  const std::int64_t steps = a.count("--speculative-num-steps", 0);
  if (chain && steps > 0 && a.count("--speculative-num-draft-tokens", steps + 1) != steps + 1)
    out.push_back(fmt::format("--speculative-eagle-topk 1 makes --speculative-num-draft-tokens {}", steps + 1));
  if (steps > 0 && !a.has("--speculative-algorithm"))
    out.emplace_back("--speculative-num-steps needs --speculative-algorithm");
  if (a.has("--speculative-algorithm") && a.has("--enable-mixed-chunk"))
    out.emplace_back("--enable-mixed-chunk is turned off by speculative decoding");
  if (a.text("--elastic-ep-backend", "none") != "none" && !a.has("--disable-cuda-graph"))
    out.emplace_back("--elastic-ep-backend scales with --disable-cuda-graph");
  if (a.has("--enable-eplb") && ep == 1) out.emplace_back("--enable-eplb needs --ep-size above 1");
  if (a.degree("--dcp-size") == 1 && a.text("--dcp-comm-backend", "ag_rs") != "ag_rs")
    out.emplace_back("--dcp-comm-backend needs --dcp-size above 1");
  return out;
}

void add_role(const PlanRequest& request, EngineLaunch& out) {
  const bool prompts = request.role == PoolRole::kPrefill;
  out.command.set("--disaggregation-mode", prompts ? "prefill" : "decode")
      .set("--disaggregation-transfer-backend", "nixl");
  if (prompts) out.command.set("--disaggregation-bootstrap-port", 8998);
  out.notes.emplace_back(
      "NIXL must be installed; in front: python3 -m sglang_router.launch_router --pd-disaggregation --prefill URL 8998 "
      "for "
      "each prefill instance, --decode URL for each decode instance");
}

}  // namespace

Exporter sglang_exporter() {
  return {"sglang",
          "a bash script around `sglang.launch_server`, and a manifest for several nodes",
          "python3 -m sglang.launch_server",
          write,
          read,
          sglang_flags,
          add_role,
          conflicts};
}

}  // namespace shardplan
