#include "planner/cache_transfer.h"

#include <algorithm>

#include "planner/deployment.h"

namespace shardplan {
namespace {

// Ranks that hold the cache of one request.
std::int64_t ranks_of(const ParallelConfig& config) { return config.pp * config.pcp * config.tp; }

double stored_bytes(const PoolCache& pool) {
  double bytes = 0;
  for (const StageLedger& stage : pool.ledger.stages) bytes += stage.kv_bytes_per_token;
  return bytes * static_cast<double>(pool.config.pcp * pool.config.tp);
}

// The part of a NIC that one rank of an instance has.
BytesPerSecond nic_of_rank(const NodeSpec& node) {
  return node.nic.bandwidth * (static_cast<double>(node.nics) / static_cast<double>(node.devices));
}

}  // namespace

TransferSettings cache_transfer(const PlanRequest& request, const PoolCache& prefill, const PoolCache& decode) {
  const NodeSpec& node = request.hardware.node;
  const bool one_domain = prefill.config.gpus() + decode.config.gpus() <= node.domain;
  const BytesPerSecond rank = one_domain ? node.scale_up.bandwidth : nic_of_rank(node);
  const auto once = static_cast<double>(cache_bytes_per_token(request.model, *formats_of(request).kv).value());
  TransferSettings out;
  out.bytes_per_token_ratio = std::max(once, stored_bytes(decode));
  out.start_up = times_of(request).host.hand_over;
  out.sender = rank * static_cast<double>(ranks_of(prefill.config));
  out.receiver = rank * static_cast<double>(ranks_of(decode.config));
  return out;
}

TierSettings cache_tiers(const PlanRequest& request, const PoolCache& pool, const TierChoice& choice) {
  TierSettings out;
  const NodeSpec& node = request.hardware.node;
  const double block = stored_bytes(pool) * static_cast<double>(pool.ledger.block_tokens);
  const auto blocks = [block](Bytes bytes) { return static_cast<std::int64_t>(static_cast<double>(bytes.value()) / block); };
  const auto ranks = static_cast<double>(ranks_of(pool.config));
  out.host_blocks = blocks(choice.host);
  out.remote_blocks = blocks(choice.remote);
  out.bytes_per_block_ratio = block;
  out.host_link = node.pcie.bandwidth * ranks;
  out.remote_link = choice.remote_rate.value_or(nic_of_rank(node)) * ranks;
  return out;
}

}  // namespace shardplan
