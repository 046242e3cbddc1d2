#include "tools/request/make_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/errors.h"
#include "costmodel/collectives/nccl_tuner.h"
#include "models/catalog.h"
#include "planner/deployment.h"
#include "planner/serving_interval.h"
#include "tools/cli/values.h"
#include "tools/request/engine_times_file.h"
#include "tools/request/limits.h"
#include "tools/request/parallel_fields.h"

namespace shardplan {
namespace {

void refuse(bool contradicts, const char* flag, const char* what, const char* hint) {
  if (contradicts) throw InputError(flag, what, hint);
}

ModelSpec make_model(const RequestFlags& flags) {
  refuse(flags.model.empty(), "--model", "is missing", "a name from shardplan models, or a config.json");
  ModelSpec model = load_model(flags.model);
  const std::string& format = flags.engine.weight_dtype;
  if (!format.empty()) override_weight_format(model, require_format(format, "--weight-dtype"));
  return model;
}

// One host of `devices` GPUs; a domain that was one host stays one, and every GPU keeps its adapter.
void resize_node(NodeSpec& node, int devices) {
  if (node.domain == node.devices) node.domain = devices;
  node.nics = node.nics == node.devices ? devices : std::gcd(node.nics, devices);
  node.devices = devices;
}

HardwareProfile make_hardware(const MachineFlags& flags) {
  refuse(flags.hardware.empty(), "--hardware", "is missing", "a name from shardplan hardware, or a JSON file");
  HardwareProfile hardware =
      flags.fabric.empty() ? load_hardware(flags.hardware) : load_hardware(flags.hardware, flags.fabric);
  if (flags.gpus_per_node) resize_node(hardware.node, static_cast<int>(*flags.gpus_per_node));
  if (flags.nic_gbps) hardware.node.nic.bandwidth = BytesPerSecond(*flags.nic_gbps * 1e9 / 8);
  return hardware;
}

PriceMode make_mode(const MachineFlags& flags, const HardwareProfile& hardware) {
  if (flags.mode == "sol") return PriceMode::kSpeedOfLight;
  if (flags.mode == "calibrated" && !hardware.calibrated) {
    throw InputError("--mode", "\"calibrated\" needs fitted coefficients, and " + hardware.name + " has none", "sol");
  }
  return hardware.calibrated ? PriceMode::kCalibrated : PriceMode::kSpeedOfLight;
}

Workload make_workload(const WorkloadFlags& flags) {
  Workload workload;
  workload.isl = flags.isl.value_or(workload.isl);
  workload.osl = flags.osl.value_or(workload.osl);
  workload.prefix = flags.prefix.value_or(0);
  workload.concurrency = flags.concurrency;
  workload.requests_per_second = flags.request_rate;
  refuse(flags.concurrency && flags.request_rate, "--concurrency", "contradicts --request-rate (a closed loop or an open one)", "one of them");
  return workload;
}

// A request as long as the longest sequence of the steps.
Workload workload_of(const BareSteps& steps) {
  const double prompt = steps.prefill.prefill_prefix + static_cast<double>(steps.prefill.prefill_tokens);
  const auto tokens = static_cast<std::int64_t>(std::max({steps.decode.decode_context, prompt, 2.0}));
  return {.isl = tokens - 1, .osl = 1};
}

void check_prefix(const Workload& workload) {
  if (workload.prefix >= workload.isl) {
    throw InputError("--prefix", fmt::format("{} cached tokens leave nothing of a prompt of {} to compute", workload.prefix, workload.isl),
                     "less than --isl");
  }
}

std::optional<Seconds> from_milliseconds(const std::optional<double>& milliseconds) {
  return milliseconds ? std::optional(Seconds(*milliseconds * kMilli)) : std::nullopt;
}

void set_formats(PlanRequest& request, const EngineFlags& flags) {
  const bool automatic = flags.kv_dtype.empty() || flags.kv_dtype == "auto";
  if (!automatic) request.kv_format = &require_kv_format(flags.kv_dtype, "--kv-dtype");
  if (!flags.activation_dtype.empty()) request.activation_format = &require_format(flags.activation_dtype, "--activation-dtype");
}

void set_engine(PlanRequest& request, const EngineFlags& flags) {
  refuse(!flags.engine_version.empty() && flags.engine.empty(), "--engine-version", "is the version of no engine", "--engine beside it");
  if (!flags.engine.empty()) request.engine = &require_engine(flags.engine);
  request.engine_version = flags.engine_version;
  if (request.engine != nullptr) {
    (void)version_note(*request.engine, flags.engine_version);  // refuses what is no version
    request.engine_version = request.engine->release_of(flags.engine_version);
  }
  if (!flags.overlay.empty()) {
    request.engine_times = std::make_shared<const EngineTimesTable>(overlaid_times(shipped_engine_times(), flags.overlay));
  }
  request.max_model_len = flags.max_model_len.value_or(0);
  request.memory_fraction_ratio = flags.memory_fraction.value_or(0);
  request.memory_held = Bytes(static_cast<std::int64_t>(flags.memory_held_gib.value_or(0) * static_cast<double>(kGiB)));
  request.block_size = flags.block_size.value_or(0);
  request.price.symmetric_memory = flags.symmetric_memory;
  request.max_num_sequences = flags.max_num_seqs.value_or(0);
  request.max_batched_tokens = flags.max_num_batched_tokens.value_or(0);
}

void check_symmetric_memory(const PlanRequest& request) {
  if (!request.price.symmetric_memory) return;
  const auto arch = nccl_arch(request.hardware.device);
  if (!arch || *arch < NcclArch::kHopper) {
    throw InputError("--symmetric-memory", request.hardware.name + " has no kernels for it", "a Hopper or Blackwell machine with a scale-up fabric");
  }
  const Engine& engine = engine_of(request);
  if (engine.symmetric_from_ranks == 0) throw InputError("--symmetric-memory", std::string(engine.name) + " does not register its buffers with NCCL", "vllm, sglang or trtllm");
}

void set_fixed(PlanRequest& request, const ParallelFlags& flags) {
  check_parallel_flags(flags);
  request.fixed = flags.config;
  request.fixed_names = flags.given;
  for (const DegreeField& field : degree_fields()) {
    if (!flags.has(field.name)) request.fixed.*field.member = 0;
  }
  if (flags.has("overlap")) request.fixed_names.emplace_back("overlap_chunks");
  if (flags.has("pp_layers") && !flags.has("pp")) {
    request.fixed.pp = static_cast<std::int64_t>(flags.config.pp_layers.size());
    request.fixed_names.emplace_back("pp");
  }
}

void check_length(const PlanRequest& request) {
  const std::int64_t tokens = request.workload.tokens();
  if (request.max_model_len > 0 && request.max_model_len < tokens) {
    throw InputError("--max-model-len", fmt::format("{} is shorter than a request of {} tokens", request.max_model_len, tokens),
                     fmt::format("{} or more", tokens));
  }
}

}  // namespace

PlanRequest make_request(const RequestFlags& flags) {
  PlanRequest request;
  refuse(flags.model.empty(), "--model", "is missing", "a name from shardplan models, or a config.json");
  const BareSteps steps = make_bare_steps(flags);
  request.workload = steps.given ? workload_of(steps) : make_workload(flags.workload);
  const bool drafts = flags.parallel.config.variant.speculative_tokens > 0;
  refuse(flags.workload.acceptance && !drafts, "--acceptance", "is of no drafted token", "--speculative-tokens beside it");
  request.workload.acceptance_ratio = flags.workload.acceptance.value_or(request.workload.acceptance_ratio);
  if (!steps.given) check_prefix(request.workload);
  set_fixed(request, flags.parallel);
  set_engine(request, flags.engine);
  set_formats(request, flags.engine);
  if (!flags.search.objective.empty()) request.objective = parse_objective(flags.search.objective);
  request.top = flags.search.top.value_or(request.top);
  request.targets = {from_milliseconds(flags.workload.ttft_ms), from_milliseconds(flags.workload.tpot_ms),
                     from_milliseconds(flags.workload.e2e_ms)};
  const WorkloadFlags& w = flags.workload;
  refuse(w.confidence && !w.ttft_ms && !w.tpot_ms && !w.e2e_ms, "--confidence", "is of no target", "--ttft-ms, --tpot-ms or --e2e-ms beside it");
  if (w.confidence) request.targets.deviations = deviations_of(*w.confidence);
  if (!flags.expert_load.empty()) request.price.expert_load = parse_expert_load(flags.expert_load);
  request.hardware = make_hardware(flags.machine);
  request.price.mode = make_mode(flags.machine, request.hardware);
  refuse(w.confidence && request.price.mode != PriceMode::kCalibrated, "--confidence", "is of predictions at the speed of light, which have no interval", "a calibrated machine");
  check_symmetric_memory(request);
  if (flags.expert_load.empty() && request.price.mode == PriceMode::kCalibrated) request.price.expert_load = served_expert_load();
  request.model = make_model(flags);
  if (request.engine_version != flags.engine.engine_version)
    request.model.notes.push_back(fmt::format("{} {} is taken for the container of Dynamo with {} {}", request.engine->name, flags.engine.engine_version,
                                              request.engine->name, request.engine_version));
  refuse(!flags.scale_to.empty() && !flags.parallel.config.variant.elastic_ep, "--scale-to", "is of an instance whose ranks are fixed", "--elastic-ep beside it");
  if (!flags.scale_to.empty()) request.scale_to = parse_counts(flags.scale_to, "--scale-to", {1, kMostGpus});
  request.gpus = flags.machine.gpus.value_or(request.gpus);
  check_length(request);
  return request;
}

BareSteps make_bare_steps(const RequestFlags& flags) {
  const StepFlags& s = flags.steps;
  BareSteps steps;
  steps.given = s.batch || s.prefill_tokens;
  refuse(s.context && !steps.given, "--context", "belongs to a bare step", "--batch or --prefill-tokens beside it");
  if (!steps.given) return steps;
  const WorkloadFlags& w = flags.workload;
  refuse(w.isl || w.osl || w.concurrency || w.request_rate, s.batch ? "--batch" : "--prefill-tokens",
         "is a bare step, which has no traffic", "no --isl, --osl, --concurrency or --request-rate beside it");
  refuse(s.batch && s.context.value_or(0) < 1, "--batch", "needs the positions that each sequence attends to", "--context 1 or more");
  if (s.batch) {
    steps.decode.decode_sequences = *s.batch;
    steps.decode.decode_context = static_cast<double>(*s.context);
  }
  if (s.prefill_tokens) {
    steps.prefill.prefill_sequences = 1;
    steps.prefill.prefill_tokens = *s.prefill_tokens;
    steps.prefill.prefill_prefix = static_cast<double>(s.batch ? w.prefix.value_or(0) : s.context.value_or(0));
  }
  return steps;
}

}  // namespace shardplan
