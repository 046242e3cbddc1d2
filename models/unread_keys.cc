#include "models/unread_keys.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "models/in_quotes.h"

namespace shardplan {
namespace {

constexpr std::array<std::string_view, 14> kSpeaksOfSizes = {"size",   "dim",   "rank",         "head",   "layer",
                                                             "expert", "width", "intermediate", "window", "latent",
                                                             "block",  "vocab", "channel",      "conv"};

// Training, generation and layout settings whose names speak of sizes.
constexpr std::array<std::string_view, 18> kHarmless = {"chunk_size_feed_forward",
                                                        "cross_attention_hidden_size",
                                                        "encoder_no_repeat_ngram_size",
                                                        "ep_size",
                                                        "max_window_layers",
                                                        "no_repeat_ngram_size",
                                                        "output_hidden_states",
                                                        "pruned_heads",
                                                        "rotary_dim",
                                                        "shared_expert_intermediate_size",
                                                        "sliding_window",
                                                        "use_sliding_window",
                                                        "vocab_size",
                                                        "intermediate_size",
                                                        "layernorm_epsilon",
                                                        "layer_norm_eps",
                                                        "layer_norm_epsilon",
                                                        "attention_head_type"};

bool speaks_of_sizes(std::string_view key) {
  return std::any_of(kSpeaksOfSizes.begin(), kSpeaksOfSizes.end(),
                     [&](std::string_view word) { return key.find(word) != std::string_view::npos; });
}

bool is_harmless(std::string_view key) { return std::find(kHarmless.begin(), kHarmless.end(), key) != kHarmless.end(); }

bool holds_something(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>() != 0;
  return value.is_structured() && !value.empty();
}

}  // namespace

std::vector<std::string> suspicious_unread_keys(const JsonObject& config, const Json& json) {
  std::vector<std::string> keys;
  for (const std::string& key : config.unread_keys()) {
    if (!speaks_of_sizes(key) || is_harmless(key) || !holds_something(json.at(key))) continue;
    if (keys.size() == kMaxNamedKeys) {
      keys.emplace_back("...");
      break;
    }
    keys.push_back(in_quotes(key));
  }
  return keys;
}

}  // namespace shardplan
