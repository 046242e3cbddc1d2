// What no deployment of given degrees can beat, before anything is lowered: a roofline of one request's share.
//
// Per layer and step of n decode tokens, on a rank (c: seconds/FLOP and s: seconds/byte with the profile's
// efficiencies):
//   products   max(n*F*c, W*s)    F, W: the layer's FLOPs per token and weight bytes over the ways its tables split
//   them attention  n*max(context*kv*s, FLOPs*c)  over the ways heads and positions are split kernels    five fixed
//   costs;  exchanges: two all-reduces, or gathers and scatters, alone on their links
// A decode step is the sum over layers plus the host's part; a prompt adds its products and exchanges. From these:
//   TPOT >= step(N),   requests/s <= N / ((osl-1)*step(N) + N*prompt)
// y tokens a step where drafted ones are verified: steps and TPOT are divided by y, what verifying and drafting add is
// left out. Everything a table adds (ring steps, waits, elementwise kernels) is left out, so the true time is longer:
// tests compare. Wrong (and then too low a bound) only if a lowering fuses one of the two exchanges away.
#pragma once

#include <optional>
#include <vector>

#include "costmodel/expert_load.h"
#include "planner/deployment.h"
#include "planner/objective.h"
#include "planner/search/memory_bound.h"

namespace shardplan {

class RequestBound {
 public:
  RequestBound(const PlanRequest& request, const CollectivePricer& collectives);

  // Least time of one step in which every instance decodes `sequences` requests.
  [[nodiscard]] Seconds decode_step(const ParallelConfig& config, double sequences) const;
  // The same for one request, over the tokens that a step yields.
  [[nodiscard]] Seconds time_per_token(const ParallelConfig& config) const;
  // Least time until the first token of a request alone.
  [[nodiscard]] Seconds first_token(const ParallelConfig& config) const;
  // Most requests/s of one instance that runs `sequences` requests.
  [[nodiscard]] double requests_per_second(const ParallelConfig& config, double sequences) const;
  // Most requests that run at once in one instance.
  [[nodiscard]] double most_sequences(const ParallelConfig& config) const;

  // As above, within a TPOT target: what rate it allows is at most that of this many.
  [[nodiscard]] double allowed_sequences(const ParallelConfig& config) const;

  // No setting of `config` (replicas as given) ranks before this key.
  [[nodiscard]] RankKey key(const ParallelConfig& config) const;

 private:
  struct Layers {  // sums over all layers, seconds for one token on one unsplit device
    double latent = 0, attention = 0, dense = 0, shared = 0, experts = 0;                           // products
    double latent_read = 0, attention_read = 0, dense_read = 0, shared_read = 0, experts_read = 0;  // weights, once
    double kernels = 0;
  };
  void add_kind(const LayerKind& kind, double layers);
  void add_core(const LayerKind& kind, double layers);
  [[nodiscard]] double yield(const ParallelConfig& config) const;           // tokens of a step and sequence
  [[nodiscard]] double core_seconds(const ParallelConfig& config) const;    // of one decode token, on its ranks
  [[nodiscard]] double prompt_seconds(const ParallelConfig& config) const;  // attention of a prompt, on its ranks
  [[nodiscard]] double prompt_extra(const ParallelConfig& config, double sequences) const;
  [[nodiscard]] double copies_sent(const ParallelConfig& config) const;
  template <class Visit>
  void for_each_exchange(const ParallelConfig& config, double tokens, std::int64_t prompt_ways, Visit visit) const;
  [[nodiscard]] double cache_exchanges(const ParallelConfig& config, double group) const;
  [[nodiscard]] double decode_exchanges(const ParallelConfig& config, double tokens) const;
  [[nodiscard]] double prompt_exchanges(const ParallelConfig& config) const;
  [[nodiscard]] double collective(CollectiveKind kind, std::int64_t ranks, std::int64_t stride, double bytes, const TokenCopies& tokens = {}) const;
  [[nodiscard]] double slope(CollectiveKind kind, std::int64_t ranks, std::int64_t stride, const TokenCopies& tokens = {}) const;
  [[nodiscard]] bool splits_tokens(const ParallelConfig& config) const;

  const PlanRequest& request_;
  const CollectivePricer& collectives_;
  EngineTimes times_;
  double safety_ = 1;
  SchedulerDefaults scheduler_;
  WeightParts weights_;
  Layers layers_;
  double layer_count_ = 0;
  std::optional<ExpertLoadModel> load_;   // of all experts as if on one rank
  double token_bytes_ = 0;  // of the residual stream
  double context_ = 0;
  struct Core {  // attention over one request's context, all layers of a kind, unsplit
    const AttentionSpec* attention = nullptr;
    double read = 0;    // seconds to read the cache
    double decode = 0;  // seconds of FLOPs of one decode token
    double prompt = 0;  // seconds of FLOPs of the prompt
    double held = 0;    // bytes held
  };
  std::vector<Core> cores_;
};

}  // namespace shardplan
