#include "tools/request/request_flags.h"

#include <iterator>

#include "tools/cli/flag_builders.h"
#include "tools/request/limits.h"
#include "tools/request/unsupported_flags.h"

namespace shardplan {
namespace {

FlagGroup machine_flags(RequestFlags& flags) {
  MachineFlags& m = flags.machine;
  return {"Model and machine",
          {text_flag("--model", "NAME", "catalog name, Hugging Face id, config.json, or a directory holding one", flags.model),
           text_flag("--hardware", "NAME", "catalog name or a JSON file (hwprofiles/README.md)", m.hardware),
           text_flag("--fabric", "FILE", "JSON with the \"fabric\" (and \"node\") to put the machine in, as in a machine's file", m.fabric),
           count_flag("--gpus", "GPUs of the whole deployment (plan: 8)", m.gpus, {1, kMostGpus}),
           count_flag("--gpus-per-node", "GPUs of one host (the machine's)", m.gpus_per_node, {1, kMostParts}),
           number_flag("--nic-gbps", "GBPS", "rate of one network adapter in Gb/s (the machine's)", m.nic_gbps, {0, kMostGigabits}),
           choice_flag<std::string>("--mode", "speed of light of the datasheet, or fitted coefficients (where there are any)", m.mode,
                                    {{"sol", "sol"}, {"calibrated", "calibrated"}})}};
}

FlagGroup workload_flags(WorkloadFlags& w) {
  return {"Traffic and targets",
          {count_flag("--isl", "prompt tokens of a request (1024)", w.isl, {1, kMostTokens}),
           count_flag("--osl", "output tokens of a request (256)", w.osl, {1, kMostTokens}),
           count_flag("--prefix", "of --isl, tokens found in the prefix cache (0)", w.prefix, {0, kMostTokens}),
           count_flag("--concurrency", "requests in flight over the whole deployment", w.concurrency, {1, kMostSequences}),
           number_flag("--request-rate", "R", "requests per second over the whole deployment", w.request_rate, {0, kMostRequestsPerSecond}),
           number_flag("--acceptance", "P", "that one drafted token is accepted when those before it were (0.8)", w.acceptance, {0, 1}),
           number_flag("--ttft-ms", "MS", "most milliseconds to the first token", w.ttft_ms, {0, kMostMilliseconds}),
           number_flag("--tpot-ms", "MS", "most milliseconds per further token", w.tpot_ms, {0, kMostMilliseconds}),
           number_flag("--e2e-ms", "MS", "most milliseconds of a request", w.e2e_ms, {0, kMostMilliseconds}),
           number_flag("--confidence", "P", "probability over 0.5 that each target holds, by how far predictions may be off (as predicted)", w.confidence, {0.5, 0.99})}};
}

FlagGroup engine_flags(EngineFlags& e) {
  return {"Engine, formats, memory",
          {text_flag("--engine", "NAME", "legal for this engine, and with its defaults (shardplan engines)", e.engine),
           text_flag("--engine-version", "V", "version of --engine", e.engine_version),
           text_flag("--overlay", "FILE", "engine times of your own points (shardplan calibrate fit --serving)", e.overlay),
           text_flag("--weight-dtype", "FORMAT", "weights in bf16, fp8, fp8_block, nvfp4, ... (the model's)", e.weight_dtype),
           text_flag("--kv-dtype", "FORMAT", "K and V cache in bf16, fp8, ... (the model's)", e.kv_dtype),
           text_flag("--activation-dtype", "FORMAT", "activations between layers (bf16)", e.activation_dtype),
           number_flag("--memory-fraction", "F", "of device memory that may be used (the engine's)", e.memory_fraction, {0, 1}),
           number_flag("--memory-held", "GIB", "of every device that other processes hold (0)", e.memory_held_gib, {0, kMostGib}),
           switch_flag("--symmetric-memory", "buffers are registered with NCCL, for its kernels over symmetric memory", e.symmetric_memory),
           count_flag("--block-size", "tokens of a cache block (the engine's)", e.block_size, {1, kMostBlock}),
           count_flag("--max-model-len", "longest request that must be admitted (isl + osl)", e.max_model_len, {1, kMostTokens}),
           count_flag("--max-num-seqs", "most requests running at once in a group (the engine's)", e.max_num_seqs, {1, kMostSequences}),
           count_flag("--max-num-batched-tokens", "most tokens of one step (the engine's)", e.max_num_batched_tokens, {1, kMostTokens})}};
}

}  // namespace

FlagGroup recorded(FlagGroup group, RequestFlags& flags) {
  for (Flag& flag : group.flags) {
    flag.store = [store = std::move(flag.store), name = flag.name, number = flag.number, &flags](const std::string& text) {
      store(text);
      flags.given.push_back({name, text, number});
    };
  }
  return group;
}

std::vector<FlagGroup> request_flags(RequestFlags& flags, bool simulates) {
  std::vector<FlagGroup> groups = {machine_flags(flags), workload_flags(flags.workload)};
  std::vector<FlagGroup> layout = parallel_flags(flags.parallel);
  layout.back().flags.push_back(text_flag("--expert-load", "LOAD", "uniform, zipf:A, or a JSON file of counts (zipf:0.8; at speed of light uniform)", flags.expert_load));
  layout.back().flags.push_back(text_flag("--scale-to", "RANKS,..", "what it costs an instance of --elastic-ep to go on with as many ranks (none)", flags.scale_to));
  std::move(layout.begin(), layout.end(), std::back_inserter(groups));
  groups.push_back(engine_flags(flags.engine));
  for (FlagGroup& group : groups) group = recorded(std::move(group), flags);
  groups.push_back(unsupported_flags(simulates));
  return groups;
}

FlagGroup step_flags(RequestFlags& flags) {
  StepFlags& s = flags.steps;
  return recorded({"Bare steps instead of traffic",
                   {count_flag("--batch", "one decode step of N sequences over the whole instance", s.batch, {1, kMostSequences}),
                    count_flag("--context", "positions each sequence of --batch attends to, or tokens before --prefill-tokens",
                               s.context, {0, kMostTokens}),
                    count_flag("--prefill-tokens", "one forward of N prompt tokens, behind --context (or --prefix with --batch) cached",
                               s.prefill_tokens, {1, kMostTokens})}},
                  flags);
}

FlagGroup search_flags(RequestFlags& flags) {
  return recorded({"Search",
                   {text_flag("--objective", "NAME", "throughput (default), interactivity, latency, gpus, cost, energy", flags.search.objective),
                    count_flag("--top", "plans to keep (10)", flags.search.top, {1, kMostPlans}),
                    count_flag("--verify", "of these, so many best ones are simulated and ranked anew (0)", flags.search.verify, {0, kMostPlans}),
                    switch_flag("--pools", "also plan prompts and answers on pools of their own", flags.search.pools)}},
                  flags);
}

}  // namespace shardplan
