// Names of modules in quantisation configs, and which modules they mean.
//
// "lm_head"                    a module called so, anywhere in the path
// "model.layers.*.self_attn"   '*' stands for any characters, dots included
// "re:.*shared_experts.*"      a regular expression from the start of the path
// A plain name or a glob must cover whole components: "mlp.gate" is not "mlp.gate_proj". It means the
// modules below, too. Text parts nested in a multimodal model are called as if they were not:
// "language_model." is dropped.
// Sources: how vLLM and SGLang read modules_to_not_convert, ignore and exclude_modules.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/quantization/name_regex.h"

namespace shardplan {

class ModulePatterns {
 public:
  // False when the pattern is a regular expression that this reader does not know; it then means nothing.
  [[nodiscard]] bool add(std::string_view pattern);

  // Whether one of the patterns means `module`, e.g. "model.layers.3.mlp.gate_proj".
  [[nodiscard]] bool matches(std::string_view module) const;

  // Rough cost of matches() beside a look-up; bounds what a hostile file can make us do.
  [[nodiscard]] std::int64_t cost() const;

 private:
  std::set<std::string, std::less<>> names_;
  std::vector<std::string> globs_;
  std::vector<NameRegex> expressions_;
};

}  // namespace shardplan
