#include "planner/search/bound.h"

#include <algorithm>
#include <cmath>

#include "costmodel/compiled_graph.h"
#include "costmodel/expert_load.h"
#include "costmodel/lowering/modules.h"
#include "models/weights.h"
#include "planner/rules.h"
#include "planner/search/serve.h"

namespace shardplan {
namespace {

constexpr double kSafety = 0.98;                       // interpolation of collective prices errs by 1 %
constexpr double kSlopeFrom = 2048, kSlopeTo = 16384;  // tokens between which exchanges grow linearly

// Least seconds per FLOP and per byte of a kernel family on this machine.
struct Rates {
  double per_flop = 0;
  double per_byte = 0;
  double fixed = 0;
};

Rates rates_of(const PlanRequest& request, const char* family, const NumberFormat& format) {
  const DeviceSpec& device = request.hardware.device;
  KernelCoefficients c{Seconds(0), 1, 1};
  if (request.price.mode == PriceMode::kCalibrated)
    c = kernel_coefficients(request.hardware, family, std::string(format.name));
  return {1 / (math_peak(device, &format).value() * c.compute_efficiency),
          1 / (device.memory_bandwidth.value() * c.memory_efficiency), c.fixed.value()};
}

// The least that an engine's kernels take of the profile's.
double least_factor(const EngineTimes& times) {
  double least = std::min({1.0, times.factors.prefill_product, times.factors.prefill_elementwise});
  for (const double factor : times.factors.of) least = std::min(least, factor);
  return least * std::min({1.0, times.decode_ratio, times.prefill_ratio});
}

double over(double value, std::int64_t ways) { return value / static_cast<double>(std::max<std::int64_t>(1, ways)); }

// Ways that a rank's share of one request's cache is cut: KV heads over ranks, positions over dcp.
double cache_ways(const AttentionSpec& attention, const ParallelConfig& c) {
  const std::int64_t width = c.pcp == 1 ? c.tp / c.dcp : c.dcp == c.pcp * c.tp && c.dcp > 1 ? 1 : c.tp;
  const std::int64_t heads = attention.kind == AttentionKind::kLatent ? 1 : std::min(width, attention.kv_heads);
  return static_cast<double>(heads * c.dcp);
}

}  // namespace

RequestBound::RequestBound(const PlanRequest& request, const CollectivePricer& collectives)
    : request_(request),
      collectives_(collectives),
      times_(times_of(request)),
      safety_(kSafety * (request.price.mode == PriceMode::kCalibrated ? least_factor(times_) : 1)),
      scheduler_(scheduler_of(request, {}, 16384)),
      weights_(weight_parts(request.model)) {
  context_ = static_cast<double>(request.workload.isl) + static_cast<double>(request.workload.osl) / 2;
  if (const FfnSpec* moe = moe_of(request.model); moe != nullptr) load_.emplace(request.price.expert_load, moe->experts, moe->experts_per_token, 1, 0, request.fixed.variant.capacity_factor_ratio);
  token_bytes_ = static_cast<double>(request.model.hidden) * formats_of(request).activation->bits / 8;
  for (std::size_t k = 0; k < request.model.kinds.size(); ++k) {
    const auto layers = static_cast<double>(request.model.layers_of_kind(static_cast<int>(k)));
    layer_count_ += layers;
    add_kind(request.model.kinds[k], layers);
    add_core(request.model.kinds[k], layers);
  }
}

void RequestBound::add_kind(const LayerKind& kind, double layers) {
  const double share = kind.ffn.kind == FfnKind::kMoe
                           ? static_cast<double>(kind.ffn.experts_per_token) / static_cast<double>(kind.ffn.experts)
                           : 1;
  for (const WeightTensor& tensor : layer_weights(kind, request_.model.hidden)) {
    if (!tensor.quantisable) continue;
    const NumberFormat& format = format_of(kind.formats, tensor);
    const bool grouped = tensor.family == ModuleFamily::kExperts;
    const Rates rates = rates_of(request_, grouped ? "grouped_gemm" : "gemm", format);
    const double flops = 2 * static_cast<double>(tensor.elements()) * rates.per_flop * layers;
    const double read = static_cast<double>(bytes_of(tensor, format).value()) * rates.per_byte * layers;
    switch (tensor.family) {
      case ModuleFamily::kAttention:
      case ModuleFamily::kAttentionOutput:
        (is_latent_projection(tensor) ? layers_.latent : layers_.attention) += flops;
        (is_latent_projection(tensor) ? layers_.latent_read : layers_.attention_read) += read;
        break;
      case ModuleFamily::kDenseFfn:
        layers_.dense += flops;
        layers_.dense_read += read;
        break;
      case ModuleFamily::kSharedExperts:
        layers_.shared += flops;
        layers_.shared_read += read;
        break;
      case ModuleFamily::kExperts:
        layers_.experts += flops * share * load_->least_kept_ratio();
        layers_.experts_read += read;
        break;
      default:
        break;
    }
  }
  const bool moe = kind.ffn.kind == FfnKind::kMoe;
  const Rates attention = rates_of(request_, "gemm", *kind.formats.attention);
  const Rates core = rates_of(request_, "attention_decode", *formats_of(request_).kv);
  const Rates ffn =
      rates_of(request_, moe ? "grouped_gemm" : "gemm", moe ? *kind.formats.experts : *kind.formats.dense_ffn);
  const int products = kind.attention.kind == AttentionKind::kLatent ? 4 : 2;
  layers_.kernels += (products * attention.fixed + core.fixed + (moe ? 1 : 2) * ffn.fixed) * layers;
}

void RequestBound::add_core(const LayerKind& kind, double layers) {
  const NumberFormat& kv = *formats_of(request_).kv;
  const AttentionSpec& a = kind.attention;
  const bool latent = a.kind == AttentionKind::kLatent;
  const double window = a.window > 0 ? static_cast<double>(a.window) : 1e18;
  const double seen = std::min(context_, window);
  const auto fresh = static_cast<double>(request_.workload.isl - request_.workload.prefix);
  const double pairs =
      fresh * std::min(window, static_cast<double>(request_.workload.prefix) + fresh / 2) * (window < 1e18 ? 0.5 : 1);
  const auto heads = static_cast<double>(a.q_heads);
  const auto decode_width =
      static_cast<double>(latent ? 2 * a.kv_latent + a.rope_dim : a.head_dim + a.v_head_dim);  // absorbed
  const double bf16 = request_.hardware.device.peak[static_cast<std::size_t>(MathFormat::kBf16)].value();
  const Rates decode = rates_of(request_, "attention_decode", kv),
              prefill = rates_of(request_, "attention_prefill", kv);
  const double to_bf16 = math_peak(request_.hardware.device, &kv).value() / bf16;  // attention runs in bf16 whatever the cache
  Core core{&a};
  core.held = static_cast<double>(cache_elements_per_token(a)) * kv.bits / 8 * layers * seen;
  core.read = core.held * decode.per_byte;
  core.decode = 2 * heads * decode_width * seen * decode.per_flop * to_bf16 * layers;
  core.prompt =
      2 * heads * static_cast<double>(a.head_dim + a.v_head_dim) * pairs * prefill.per_flop * to_bf16 * layers;
  cores_.push_back(core);
}

bool RequestBound::splits_tokens(const ParallelConfig& c) const { return splits_residual(request_.model, c); }

double RequestBound::collective(CollectiveKind kind, std::int64_t ranks, std::int64_t stride, double bytes, const TokenCopies& tokens) const {
  if (ranks <= 1) return 0;
  const double share = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  const double sent = kind == CollectiveKind::kAllReduce ? 2 * share : share;
  return collectives_.curve(kind, {{{ranks, stride}}, {}}, sent, tokens).time(bytes).value();
}

// Seconds per token of a growing exchange, never negative.
double RequestBound::slope(CollectiveKind kind, std::int64_t ranks, std::int64_t stride, const TokenCopies& tokens) const {
  const double grown = collective(kind, ranks, stride, kSlopeTo * token_bytes_, tokens) -
                       collective(kind, ranks, stride, kSlopeFrom * token_bytes_, tokens);
  return std::max(0.0, grown / (kSlopeTo - kSlopeFrom)) * 0.9;
}

// Copies of a token that leave its rank for its experts: distinct ranks of `ep` among k experts, its own left out.
double RequestBound::copies_sent(const ParallelConfig& c) const {
  if (c.variant.capacity_factor_ratio > 0) return 0;   // what is dropped does not move
  const FfnSpec* moe = moe_of(request_.model);
  const auto ranks = static_cast<double>(c.ep);
  const bool uniform =
      request_.price.expert_load.kind == ExpertLoad::Kind::kUniform && c.variant.redundant_experts == 0;
  const double distinct =
      uniform ? distinct_groups(ranks, static_cast<double>(moe->experts_per_token)) : 1;
  return 0.9 * distinct * (ranks - 1) / ranks;
}

// Calls visit(kind, ranks, stride, tokens, row bytes[, copies]) for each exchange of one layer, `tokens` being those of the whole
// instance (attention: of one group each). Prompts are split over pcp too.
template <class Visit>
void RequestBound::for_each_exchange(const ParallelConfig& c, double tokens, std::int64_t prompt_ways,
                                     Visit visit) const {
  const double group = over(over(tokens, c.dpa), prompt_ways);
  const std::int64_t experts = request_.model.is_moe() ? c.ep * c.moe_tp : 1;
  const double met =
      over(tokens, c.stage_ranks() / std::max<std::int64_t>(1, experts));  // tokens that one set of experts serves
  if (!splits_tokens(c)) {
    visit(CollectiveKind::kAllReduce, c.tp, 1, group, token_bytes_);
    const std::int64_t beyond = experts / (c.tp * c.pcp);
    if (beyond > 1 && c.pcp == 1) {  // tokens of other groups come and go
      visit(CollectiveKind::kAllGather, beyond, c.tp, met, token_bytes_);
      visit(CollectiveKind::kReduceScatter, beyond, c.tp, met, token_bytes_);
    } else {
      visit(CollectiveKind::kAllReduce, c.tp, 1, group, token_bytes_);
    }
    return;
  }
  visit(CollectiveKind::kAllGather, c.tp, 1, group, token_bytes_);
  visit(CollectiveKind::kReduceScatter, c.tp, 1, group, token_bytes_);
  if (!request_.model.is_moe()) return;
  if (c.variant.moe_comm == MoeComm::kAllGather) {
    visit(CollectiveKind::kAllGather, experts, 1, met, token_bytes_);
    visit(CollectiveKind::kReduceScatter, experts, 1, met, token_bytes_);
  } else if (c.ep > 1) {
    const double row = token_bytes_ * copies_sent(c) * static_cast<double>(c.ep) / static_cast<double>(c.ep - 1);
    if (row <= 0) return;  // a capacity factor may drop every copy
    const TokenCopies copies{token_bytes_ / row, static_cast<double>(moe_of(request_.model)->experts_per_token)};
    visit(CollectiveKind::kDispatch, c.ep, c.ep_stride(), over(tokens, c.stage_ranks()), row, copies);
    visit(CollectiveKind::kCombine, c.ep, c.ep_stride(), over(tokens, c.stage_ranks()), row, copies);
  }
}

// Partial outputs of a dcp group to their heads, and Q to the group unless W_Q is there.
double RequestBound::cache_exchanges(const ParallelConfig& c, double group) const {
  if (c.dcp == 1 || c.pcp > 1 || c.variant.hop_b > 1) return 0;
  const AttentionSpec& a = attention_of(request_.model);
  const bool latent = a.kind == AttentionKind::kLatent;
  const double element = static_cast<double>(formats_of(request_).activation->bits) / 8;
  const double heads = static_cast<double>(a.q_heads) / static_cast<double>(c.tp / c.dcp);
  const auto out_width = static_cast<double>(latent ? a.kv_latent : a.v_head_dim);
  const auto q_width = static_cast<double>(latent ? a.kv_latent + a.rope_dim : a.head_dim);
  const double out = group * heads * out_width * element;
  double layer = std::min(collective(CollectiveKind::kReduceScatter, c.dcp, 1, out),
                          collective(CollectiveKind::kAllToAll, c.dcp, 1, out));
  if (!c.variant.helix && !c.variant.q_replicate && !latent) {
    layer += collective(CollectiveKind::kAllGather, c.dcp, 1, group * heads * q_width * element);
  }
  return layer;
}

// All layers, for `tokens` decode tokens of the whole instance.
double RequestBound::decode_exchanges(const ParallelConfig& c, double tokens) const {
  double layer = cache_exchanges(c, over(tokens, c.dpa));
  for_each_exchange(c, tokens, 1,
                    [&](CollectiveKind kind, std::int64_t ranks, std::int64_t stride, double moved, double row, const TokenCopies& copies = {}) {
                      layer += collective(kind, ranks, stride, moved * row, copies);
                    });
  return layer * layer_count_;
}

// Exchanges of one prompt's tokens on a rank, all layers.
double RequestBound::prompt_exchanges(const ParallelConfig& c) const {
  const auto fresh = static_cast<double>(request_.workload.isl - request_.workload.prefix);
  double layer = 0;
  for_each_exchange(c, fresh, c.pcp,
                    [&](CollectiveKind kind, std::int64_t ranks, std::int64_t stride, double moved, double row, const TokenCopies& copies = {}) {
                      layer += slope(kind, ranks, stride, copies) * moved * row / token_bytes_;
                    });
  return layer * layer_count_;
}

double RequestBound::core_seconds(const ParallelConfig& c) const {
  const double ranks = static_cast<double>(c.tp * (c.pcp > 1 && c.dcp > 1 ? c.pcp : 1));
  double seconds = 0;
  for (const Core& core : cores_) seconds += std::max(core.read / cache_ways(*core.attention, c), core.decode / ranks);
  return seconds;
}

double RequestBound::prompt_seconds(const ParallelConfig& c) const {
  double seconds = 0;
  for (const Core& core : cores_) seconds += core.prompt;
  return over(seconds, c.tp * c.pcp);
}

double RequestBound::yield(const ParallelConfig& c) const {
  return tokens_per_step(c.variant.speculative_tokens, request_.workload.acceptance_ratio);
}

Seconds RequestBound::decode_step(const ParallelConfig& c, double sequences) const {
  const auto flight = static_cast<double>(
      std::min<std::int64_t>(c.pp, std::max<std::int64_t>(1, static_cast<std::int64_t>(sequences))));
  const double n = sequences / flight;
  const double group = over(n, c.dpa);
  const std::int64_t dense = dense_width(request_.model, c), shared = shared_width(request_.model, c),
                     experts = c.ep * c.moe_tp;
  double hit = 0;
  if (load_ && c.variant.redundant_experts == 0) {   // the busiest rank's share is no less than the mean
    hit = load_->busiest_hits(over(n, c.stage_ranks() / experts)) / static_cast<double>(load_->slots_per_rank());
  }
  double layers = std::max(layers_.latent * group, layers_.latent_read);
  layers += std::max(over(layers_.attention, c.tp) * group, over(layers_.attention_read, c.tp));
  layers += std::max(over(layers_.dense, c.stage_ranks()) * n, over(layers_.dense_read, dense));
  layers += std::max(over(layers_.shared, c.stage_ranks()) * n, over(layers_.shared_read, shared));
  layers += std::max(over(layers_.experts, c.stage_ranks()) * n, over(layers_.experts_read, experts) * hit);
  layers += core_seconds(c) * group + layers_.kernels + times_.host.per_layer.value() * layer_count_ + decode_exchanges(c, n);
  // `flight` batches pass pp stages: max(flight*slowest, sum) >= sum.
  const double host = std::min(1.0, times_.decode_ratio) * (times_.host.per_step.value() + times_.host.per_sequence.value() * group);
  return Seconds(safety_ * layers + host);
}

Seconds RequestBound::time_per_token(const ParallelConfig& c) const { return decode_step(c, 1) * (1 / yield(c)); }

Seconds RequestBound::first_token(const ParallelConfig& c) const {
  const auto fresh = static_cast<double>(request_.workload.isl - request_.workload.prefix);
  const double products =
      over(layers_.attention, c.tp * c.pcp) + over(layers_.dense + layers_.shared + layers_.experts, c.stage_ranks());
  return Seconds(safety_ * over(products * fresh + prompt_seconds(c), c.pp)) +
         times_.host.first_token;  // chunks overlap in the stages
}

// Time that one prompt adds to the slowest stage.
double RequestBound::prompt_extra(const ParallelConfig& c, double sequences) const {
  const double steps = std::max<double>(1, static_cast<double>(request_.workload.osl - 1) / yield(c));
  const auto fresh = static_cast<double>(request_.workload.isl - request_.workload.prefix);
  const double flight = std::max(1.0, std::min(static_cast<double>(c.pp), sequences));
  const double n = sequences / flight;
  const double ffn = over(layers_.dense + layers_.shared + layers_.experts, c.stage_ranks());
  const double decode = over(layers_.attention, c.tp) * over(n, c.dpa) + ffn * n;
  const double prompt = fresh * (over(layers_.attention, c.tp * c.pcp * c.dpa) + ffn);
  // Products of a prompt may hide behind weights that are read anyway, as often as there are steps.
  const double reading = over(layers_.attention_read, c.tp) + over(layers_.dense_read, dense_width(request_.model, c)) +
                         over(layers_.shared_read, shared_width(request_.model, c)) +
                         over(layers_.experts_read, c.ep * c.moe_tp);
  const double places = std::max(steps * flight / sequences, 1 + fresh / 1024);
  const double shown = std::max(0.0, prompt - places * std::max(0.0, reading - decode));
  return safety_ * over(shown + prompt_exchanges(c) + over(prompt_seconds(c), c.dpa), c.pp);
}

double RequestBound::requests_per_second(const ParallelConfig& c, double sequences) const {
  const double steps = static_cast<double>(request_.workload.osl - 1) / yield(c);
  return sequences / (steps * decode_step(c, sequences).value() + sequences * prompt_extra(c, sequences));
}

double RequestBound::most_sequences(const ParallelConfig& c) const {
  const EngineMemory memory = memory_of(request_, c);
  const auto capacity = static_cast<double>(usable_bytes(memory, request_.hardware.device.visible_memory()).value());
  const double pool = capacity - static_cast<double>(weights_per_gpu_bound(request_.model, weights_, c).value());
  double each = 0;
  for (const Core& core : cores_) each += core.held / cache_ways(*core.attention, c);
  each = over(each, c.pp);
  const double seats = static_cast<double>(scheduler_.max_sequences * c.dpa);
  return std::max(1.0, std::min(seats, each > 0 ? pool / each * static_cast<double>(c.dpa) : seats));
}

// A request sees other prompts at the rate lambda: TPOT = step + lambda*extra*TPOT*(N-1)/N. Within a target x that
// allows lambda <= (1 - step(N)/x) / (extra*(N-1)/N), falling in N, while the rate above rises: the most is where they
// meet.
double RequestBound::allowed_sequences(const ParallelConfig& c) const {
  const double most = most_sequences(c);
  if (!request_.targets.tpot) return most;
  const double target = request_.targets.tpot->value();
  const auto allows = [&](double n) {
    const double room = 1 - decode_step(c, n).value() / (target * yield(c));
    const double extra = prompt_extra(c, n) * std::max(0.0, n - 1) / n;
    return room > 0 && requests_per_second(c, n) * extra <= room;
  };
  if (allows(most)) return most;
  double low = 1, high = most;
  while (high > low * 1.01) {
    const double middle = (low + high) / 2;
    (allows(middle) ? low : high) = middle;
  }
  return high;
}

RankKey RequestBound::key(const ParallelConfig& c) const {
  const Workload& w = request_.workload;
  const ObjectiveRow& row = row_of(request_.objective);
  double sequences = row.most_requests && !w.concurrency && !w.requests_per_second ? allowed_sequences(c) : 1;
  std::int64_t replicas = c.replicas;
  if (w.concurrency) {
    replicas = std::min(replicas, std::max<std::int64_t>(1, *w.concurrency));
    sequences =
        std::min(most_sequences(c), std::max(1.0, static_cast<double>(*w.concurrency) / static_cast<double>(replicas)));
  }
  ServingEstimate best;
  double rate = requests_per_second(c, sequences) * static_cast<double>(replicas);
  if (w.requests_per_second) {
    replicas = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(std::ceil(*w.requests_per_second / requests_per_second(c, most_sequences(c)))), 1,
        replicas);
    rate = std::min(*w.requests_per_second, requests_per_second(c, most_sequences(c)) * static_cast<double>(replicas));
    sequences = 1;
  } else if (row.fewer_replicas) {
    replicas = 1;  // the fewest may be few; rate per used GPU is the most with all requests in one instance
    sequences = w.concurrency ? std::min(most_sequences(c), static_cast<double>(*w.concurrency)) : sequences;
    rate = requests_per_second(c, std::max(1.0, sequences));
  }
  best.requests_per_second = rate;
  best.output_tokens_per_second = rate * static_cast<double>(w.osl);
  best.output_tokens_per_second_per_gpu =
      best.output_tokens_per_second / static_cast<double>(c.instance_gpus() * replicas);
  best.tpot = time_per_token(c);
  best.tokens_per_second_per_user = 1 / best.tpot.value();
  best.e2e = first_token(c) + best.tpot * std::max<double>(0, static_cast<double>(w.osl - 1));
  ParallelConfig used = c;
  used.replicas = replicas;
  return bound_key(row.score(request_, used.gpus(), best), used.gpus(), best.tpot);
}

}  // namespace shardplan
