#include "costmodel/stages.h"

#include <algorithm>

#include "base/errors.h"

namespace shardplan {

std::vector<std::int64_t> even_layer_split(std::int64_t layers, std::int64_t stages) {
  ensure(stages >= 1 && layers >= stages, "every stage needs a layer");
  std::vector<std::int64_t> split(static_cast<std::size_t>(stages), layers / stages);
  for (std::int64_t i = 0; i < layers % stages; ++i) ++split[static_cast<std::size_t>(i)];
  return split;
}

// best[s][l]: least slowest-stage time for the first l layers on s stages; O(stages * layers^2).
std::vector<std::int64_t> balanced_layer_split(const std::vector<double>& cost, double first, double last, std::int64_t stages) {
  const auto layers = static_cast<std::int64_t>(cost.size());
  ensure(stages >= 1 && layers >= stages, "every stage needs a layer");
  std::vector<double> prefix(cost.size() + 1, 0);
  for (std::size_t i = 0; i < cost.size(); ++i) prefix[i + 1] = prefix[i] + cost[i];
  const auto at = [layers](std::int64_t s, std::int64_t l) { return static_cast<std::size_t>(s * (layers + 1) + l); };
  std::vector<double> best(static_cast<std::size_t>((stages + 1) * (layers + 1)), 1e300);
  std::vector<std::int64_t> cut(best.size(), 0);
  best[at(0, 0)] = 0;
  for (std::int64_t s = 1; s <= stages; ++s) {
    for (std::int64_t l = s; l <= layers - (stages - s); ++l) {
      for (std::int64_t from = s - 1; from < l; ++from) {
        const double stage = prefix[static_cast<std::size_t>(l)] - prefix[static_cast<std::size_t>(from)] + (s == 1 ? first : 0) + (s == stages ? last : 0);
        const double slowest = std::max(best[at(s - 1, from)], stage);
        if (slowest < best[at(s, l)]) {
          best[at(s, l)] = slowest;
          cut[at(s, l)] = from;
        }
      }
    }
  }
  std::vector<std::int64_t> split(static_cast<std::size_t>(stages));
  std::int64_t l = layers;
  for (std::int64_t s = stages; s >= 1; --s) {
    split[static_cast<std::size_t>(s - 1)] = l - cut[at(s, l)];
    l = cut[at(s, l)];
  }
  return split;
}

std::vector<StageLayers> stage_layers(const ModelSpec& model, const std::vector<std::int64_t>& split) {
  std::vector<StageLayers> stages;
  std::int64_t next = 0;
  for (std::size_t s = 0; s < split.size(); ++s) {
    StageLayers stage{.first = next, .count = split[s], .of_kind = std::vector<std::int64_t>(model.kinds.size(), 0),
                      .is_first = s == 0, .is_last = s + 1 == split.size()};
    for (std::int64_t l = next; l < next + split[s]; ++l) {
      ensure(l < model.layer_count(), "layer split exceeds the model");
      ++stage.of_kind[static_cast<std::size_t>(model.layers[static_cast<std::size_t>(l)])];
    }
    next += split[s];
    stages.push_back(std::move(stage));
  }
  ensure(next == model.layer_count(), "layer split does not add up");
  return stages;
}

}  // namespace shardplan
