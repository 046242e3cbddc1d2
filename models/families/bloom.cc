// BLOOM: a dense decoder with a key and a value for every query head, positions as a bias on scores, biases everywhere,
// and an FFN of four times the hidden size without a gate.
#include "models/families/outline.h"
#include "models/families/readers.h"
#include "models/limits.h"

namespace shardplan {

ModelSpec read_bloom(JsonObject& config) {
  ModelSpec model;
  model.hidden = config.integer("hidden_size", 1, kMaxHidden);
  model.vocab = config.integer("vocab_size", 1, kMaxVocab);
  model.max_positions = config.integer_or("seq_length", 0, 0, kMaxPositions);
  model.tied_embeddings = true;
  AttentionSpec attention = read_grouped_attention(config, model.hidden);
  attention.qkv_bias = attention.output_bias = true;
  FfnSpec ffn;
  ffn.intermediate = 4 * model.hidden;
  ffn.gated = false;
  ffn.bias = true;
  const std::int64_t layers = read_layer_count(config);
  for (std::int64_t layer = 0; layer < layers; ++layer) append_layer(model, attention, ffn);
  return model;
}

}  // namespace shardplan
