// The shipped models and how a model named on the command line is found.
//
// Each is one file models/catalog/<name>.json in the words of a config.json; the build embeds them, so
// nothing is looked up where the program is installed, and nothing is parsed but what is asked for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/model_config.h"
#include "models/model_spec.h"

namespace shardplan {

struct CatalogEntry {
  std::string name;                  // "qwen3-235b-a22b"
  std::string hf_id;                 // "Qwen/Qwen3-235B-A22B", accepted as an alias
  std::vector<std::string> aliases;  // further names, as of instruction-tuned versions with the same sizes
  std::string_view config;           // the embedded text
};

// The entries sorted by name; nothing is parsed.
[[nodiscard]] const std::vector<CatalogEntry>& model_catalog();

// That of a catalog name, a Hugging Face id with or without its organisation, or another alias; case does not matter.
// nullptr: none.
[[nodiscard]] const CatalogEntry* find_entry(std::string_view name);

// `name` is a catalog name, a Hugging Face id or another alias of a catalog model (case does not matter),
// a config.json, a directory holding one (with hf_quant_config.json beside it, if any), or a name that is one of the
// catalog's but for endings (checkpoint_name.h; a note says what was taken). InputError otherwise, nearest name given.
[[nodiscard]] ModelSpec load_model(const std::string& name);

}  // namespace shardplan
