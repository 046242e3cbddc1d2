#include "planner/search/screen.h"

#include <fmt/format.h>

#include "base/units.h"
#include "planner/search/enumerate.h"
#include "planner/search/passes.h"
#include "planner/search/serve.h"

namespace shardplan {
namespace {

class Screen {
 public:
  Screen(const ScreenContext& context, const ParallelConfig& table) : context_(context) { out_.table = table; }

  ScreenedTable run() {
    ParallelConfig flat = out_.table;
    flat.pp_layers.clear();
    const auto neutral = check_config(request().model, flat);  // hardly looks at the depth
    for (const std::int64_t pp : pipeline_depths(request(), out_.table.stage_ranks())) {
      ParallelConfig config = out_.table;
      config.pp = pp;
      config.replicas = most_replicas(request(), config.instance_gpus());
      if (config.replicas > 0) look_at(config, neutral);
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] const PlanRequest& request() const { return context_.request; }

  void refuse(const ParallelConfig& config, const std::string& rule, double miss, const Refusal& refusal) {
    out_.refused.add(config, rule, miss, [&refusal] { return refusal; });
  }

  void look_at(const ParallelConfig& config, const std::vector<Violation>& neutral) {
    ++out_.considered;
    const auto violations = neutral.empty() ? at_depth(config) : neutral;
    if (!violations.empty()) return refuse(config, violations.front().rule, 0, {violations.front().message, ""});
    ++out_.legal;
    if (is_too_heavy(config) || is_too_slow(config)) return;
    const RankKey bound = is_on(request(), "bound") ? context_.bound.key(config) : RankKey{};
    if (out_.depths.empty() || ranks_before(bound, out_.bound)) out_.bound = bound;
    out_.depths.push_back({config, bound});
  }

  [[nodiscard]] std::vector<Violation> at_depth(const ParallelConfig& config) const {
    auto found = engine_of(request()).check(request().model, config, request().hardware, version_of(request()));
    const bool of_depth = !config.pp_layers.empty() || config.variant.elastic_ep;
    if (found.empty() && of_depth) found = check_config(request().model, config);
    return found;
  }

  bool is_too_heavy(const ParallelConfig& config) {
    if (!is_on(request(), "memory_bound")) return false;
    const Bytes weights = weights_per_gpu_bound(request().model, context_.weights, config);
    const auto capacity = static_cast<double>(
        usable_bytes(memory_of(request(), config), request().hardware.device.visible_memory()).value());
    const double excess = static_cast<double>(weights.value()) / capacity - 1;
    if (excess <= 0) return false;
    out_.refused.add(config, "memory", 1 + excess, [&]() -> Refusal {
      return {fmt::format("weights alone take at least {} per GPU of {} that may be used", format_bytes(weights),
                          format_bytes(Bytes(static_cast<std::int64_t>(capacity)))),
              ""};
    });
    return true;
  }

  bool misses(const ParallelConfig& config, const char* rule, const char* name, Seconds least,
              const std::optional<Seconds>& target) {
    if (!target || least <= *target) return false;
    out_.refused.add(config, rule, least / *target - 1, [&]() -> Refusal {
      return {fmt::format("{} is at least {} whatever the load; the target is {}", name, format_seconds(least),
                          format_seconds(*target)),
              ""};
    });
    return true;
  }

  bool is_too_slow(const ParallelConfig& config) {
    if (!is_on(request(), "latency_bound")) return false;
    const Targets& targets = request().targets;
    if (misses(config, "tpot", "TPOT", context_.bound.time_per_token(config), targets.tpot)) return true;
    return misses(config, "ttft", "TTFT", context_.bound.first_token(config), targets.ttft);
  }

  const ScreenContext& context_;
  ScreenedTable out_;
};

}  // namespace

ScreenedTable screen_table(const ScreenContext& context, const ParallelConfig& table) {
  return Screen(context, table).run();
}

}  // namespace shardplan
