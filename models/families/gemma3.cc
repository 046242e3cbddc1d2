// Gemma-3: five sliding layers to a global one, norms after each block, Q and K normalised, one table for both ends.
//
// Windows are listed in layer_types, or every sliding_window_pattern-th layer is global.
// Source: Gemma-3 technical report and published modelling code.
#include "models/families/outline.h"
#include "models/families/readers.h"
#include "models/limits.h"

namespace shardplan {

ModelSpec read_gemma3(JsonObject& config) {
  ModelSpec model = read_outline(config);
  model.tied_embeddings = config.boolean_or("tie_word_embeddings", true);
  AttentionSpec attention = read_grouped_attention(config, model.hidden);
  attention.qk_norm = true;
  const std::int64_t layers = read_layer_count(config);
  const std::int64_t window = config.integer("sliding_window", 1, kMaxPositions);
  const std::int64_t pattern = config.integer_or("sliding_window_pattern", 6, 1, kMaxLayers);
  std::vector<std::int64_t> windows = read_layer_types(config, layers, window);
  for (std::int64_t layer = 0; windows.empty() || std::ssize(windows) < layers; ++layer)
    windows.push_back((layer + 1) % pattern == 0 ? 0 : window);
  const FfnSpec ffn = read_dense_ffn(config);
  for (const std::int64_t layer_window : windows) {
    attention.window = layer_window;
    LayerKind kind = layer_of(attention, ffn);
    kind.post_norms = true;
    append_layer(model, kind);
  }
  return model;
}

}  // namespace shardplan
