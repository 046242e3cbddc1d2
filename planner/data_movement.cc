#include "planner/data_movement.h"

#include <algorithm>

#include "planner/cache_transfer.h"
#include "planner/elastic.h"

namespace shardplan {
namespace {

constexpr double kIdBytes = 4;           // an int32 token id
constexpr double kPlaceBytes = 16;       // position and cache slot of a token, int64 each
constexpr BytesPerSecond kStorage{7e9};  // one PCIe 4.0 x4 NVMe drive, sequential reads

Seconds transfer(double bytes, const LinkSpec& link) { return link.latency + Seconds(bytes / link.bandwidth.value()); }

struct Weights {
  double device = 0;    // the fullest rank's
  double instance = 0;  // all ranks of one instance
  double copies = 0;    // of `instance`, spare slots of experts
  double stored = 0;    // the checkpoint: no replication
};

Weights weights_of(const Plan& plan, const ModelSpec& model) {
  Weights weights;
  const ParallelConfig& config = plan.config;
  double spare = 0;
  if (model.is_moe() && config.variant.redundant_experts > 0) {
    const std::int64_t experts = model.max_experts();
    const std::int64_t with = ceil_div(experts + config.variant.redundant_experts, config.ep);
    spare = 1 - static_cast<double>(ceil_div(experts, config.ep)) / static_cast<double>(with);
  }
  const auto ranks = static_cast<double>(config.stage_ranks());
  for (const StageLedger& stage : plan.ledger.stages) {
    const auto bytes = static_cast<double>(stage.weights_bytes.value());
    weights.device = std::max(weights.device, bytes);
    weights.instance += bytes * ranks;
    for (const LedgerItem& item : stage.weights) {
      if (item.owner == part_name(Part::kExperts))
        weights.copies += static_cast<double>(item.bytes.value()) * spare * ranks;
    }
  }
  weights.stored = static_cast<double>(weight_bytes(model).value());
  return weights;
}

// A host reads what its ranks hold, a tensor that several hold once.
void add_weights(std::vector<DataMovement>& rows, const Plan& plan, const PlanRequest& request) {
  const NodeSpec& node = request.hardware.node;
  const Weights weights = weights_of(plan, request.model);
  const auto replicas = static_cast<double>(plan.config.replicas);
  const std::int64_t gpus = plan.config.instance_gpus();
  const auto on_host = static_cast<double>(std::min<std::int64_t>(gpus, node.devices));
  const double hosts = static_cast<double>(ceil_div(plan.config.gpus(), node.devices));
  const double held = (weights.instance - weights.copies) * on_host / static_cast<double>(gpus);
  const double host = std::min(weights.stored, held);
  const std::size_t first = rows.size();
  rows.push_back({"weights", "storage", "host", "start-up", host * hosts, "nvme (7 GB/s assumed)",
                  Seconds(host / kStorage.value()), false, ""});
  rows.push_back({"weights", "host", "device", "start-up", weights.instance * replicas, "pcie",
                  transfer(weights.device, node.pcie), false, ""});
  LinkSpec nics = node.nic;
  nics.bandwidth = node.nic.bandwidth * static_cast<double>(node.nics);
  const bool network = node.nics > 0 && nics.bandwidth.value() > 0;
  if (network)
    rows.push_back({"weights", "another host", "host", "start-up", host * hosts, "nic", transfer(host, nics), false,
                    "in place of storage where the weights lie on the network"});
  if (weights.copies > 0) {
    rows.push_back({"extra expert copies", "host", "device", "start-up", weights.copies * replicas, "pcie",
                    transfer(weights.copies / static_cast<double>(gpus), node.pcie), false,
                    "of the weights above; again at each rebalancing"});
  }
  const auto slowest = std::max_element(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(),
                                        [](const DataMovement& a, const DataMovement& b) { return a.time < b.time; });
  slowest->critical = true;
}

void add_steps(std::vector<DataMovement>& rows, const Plan& plan, const LinkSpec& pcie, double sequences,
               double prompt_tokens) {
  // Every rank of a tensor group is fed; groups and replicas are fed at once.
  const auto copies = static_cast<double>(plan.config.tp * plan.config.pcp);
  const auto groups = static_cast<double>(plan.config.dpa * plan.config.replicas);
  const auto add = [&](const char* what, const char* from, const char* to, const char* per, double bytes, double each) {
    if (bytes > 0) rows.push_back({what, from, to, per, bytes, "pcie", transfer(each, pcie), true, ""});
  };
  add("prompt token ids", "host", "device", "prompt", prompt_tokens * kIdBytes * copies, prompt_tokens * kIdBytes);
  add("token ids", "host", "device", "decode step", sequences * kIdBytes * copies, sequences * kIdBytes / groups);
  add("positions and cache slots", "host", "device", "decode step", sequences * kPlaceBytes * copies,
      sequences * kPlaceBytes / groups);
  add("sampled tokens", "device", "host", "decode step", sequences * kIdBytes, sequences * kIdBytes / groups);
}

// Out and in again over PCIe, or the forward of all its tokens.
void add_preemption(std::vector<DataMovement>& rows, const Plan& plan, const PlanRequest& request) {
  const Workload& workload = request.workload;
  const std::int64_t tokens = workload.isl + workload.osl / 2;
  const std::int64_t prompt = std::max<std::int64_t>(1, workload.isl - workload.prefix);
  double rank = 0;
  double all = 0;
  for (std::size_t s = 0; s < plan.ledger.stages.size(); ++s) {
    const double bytes = plan.ledger.cache_bytes(s, tokens);
    rank = std::max(rank, bytes);
    all += bytes * static_cast<double>(plan.config.tp * plan.config.pcp);
  }
  const Seconds again = plan.serving.ttft_prefill * (static_cast<double>(tokens) / static_cast<double>(prompt));
  if (rank <= 0 || again.value() <= 0) return;
  const Seconds swap = transfer(rank, request.hardware.node.pcie) * 2.0;
  const bool swaps = swap < again;
  rows.push_back({"cache swap", "device", "host", "preempted request", 2 * all, "pcie", swap, swaps,
                  swaps ? "out and in: faster than computing it again" : "out and in: slower than computing it again"});
  rows.push_back({"cache recompute", "device", "device", "preempted request", 0, "compute", again, !swaps,
                  swaps ? "slower than a swap" : "faster than a swap"});
}

struct Fed {
  double sequences = 0;  // running in one decode step of the deployment
  double prompt = 0;     // tokens of one prompt, computed
};

std::vector<DataMovement> start_and_steps(const PlanRequest& request, const Plan& plan, const Fed& fed) {
  std::vector<DataMovement> rows;
  if (plan.ledger.stages.empty()) return rows;
  add_weights(rows, plan, request);
  add_steps(rows, plan, request.hardware.node.pcie, fed.sequences, fed.prompt);
  return rows;
}

}  // namespace

std::vector<DataMovement> data_movement(const PlanRequest& request, const Plan& plan) {
  const Workload& workload = request.workload;
  std::vector<DataMovement> rows = start_and_steps(request, plan,
                                                   {plan.serving.running * static_cast<double>(plan.config.replicas),
                                                    static_cast<double>(workload.isl - workload.prefix)});
  if (!rows.empty()) add_preemption(rows, plan, request);
  if (!rows.empty()) add_scale_rows(request, plan, rows);
  return rows;
}

std::vector<DataMovement> data_movement(const PlanRequest& request, const EstimateResult& result,
                                        const BareSteps& steps) {
  if (!steps.given) return data_movement(request, result.plan);
  const double sequences = static_cast<double>(steps.decode.decode_sequences * result.plan.config.replicas);
  return start_and_steps(request, result.plan, {sequences, static_cast<double>(steps.prefill.prefill_tokens)});
}

DataMovement cache_hand_over(const PlanRequest& request, const Plan& prefill, const Plan& decode) {
  const TransferSettings transfer =
      cache_transfer(request, {prefill.config, prefill.ledger}, {decode.config, decode.ledger});
  const NodeSpec& node = request.hardware.node;
  const bool one_domain = prefill.config.gpus() + decode.config.gpus() <= node.domain;
  const double bytes = transfer.bytes_per_token_ratio * static_cast<double>(request.workload.isl);
  const double rate = std::min(transfer.sender.value(), transfer.receiver.value());
  return {"cache of a prompt",
          "prefill pool",
          "decode pool",
          "request",
          bytes,
          one_domain ? node.scale_up.kind : "nic",
          transfer.start_up + Seconds(bytes / rate),
          true,
          "before the request's second token"};
}

}  // namespace shardplan
