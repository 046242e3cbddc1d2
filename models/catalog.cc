#include "models/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/errors.h"
#include "base/file.h"
#include "base/json.h"
#include "base/suggest.h"
#include "models/checkpoint_name.h"
#include "models/in_quotes.h"

namespace shardplan {
namespace {

namespace fs = std::filesystem;

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

bool is_called(const CatalogEntry& entry, std::string_view name) {
  const auto matches = [&](std::string_view known) {
    return same_ignoring_case(known, name) || same_ignoring_case(known.substr(known.find_last_of('/') + 1), name);
  };
  return matches(entry.name) || matches(entry.hf_id) ||
         std::any_of(entry.aliases.begin(), entry.aliases.end(), matches);
}

// What a checkpoint keeps beside its config when it is quantised: hf_quant_config.json, or NAME_hf_quant.json of
// NAME.json.
std::string quantization_beside(const fs::path& path) {
  const bool in_checkpoint = path.filename() == "config.json";
  const fs::path beside =
      path.parent_path() / (in_checkpoint ? "hf_quant_config.json" : path.stem().string() + "_hf_quant.json");
  std::error_code error;
  return fs::is_regular_file(beside, error) ? read_file(beside.string(), kMaxJsonBytes) : "";
}

ModelSpec load_file(const fs::path& path, const std::string& name) {
  const std::string quantization = quantization_beside(path);
  ModelSpec model = read_model_config(read_file(path.string(), kMaxJsonBytes), quantization, path.string());
  model.name = name;
  return model;
}

ModelSpec load_entry(const CatalogEntry& entry) {
  ModelSpec model = read_model_config(entry.config, "", "catalog model " + entry.name);
  model.name = entry.name;
  return model;
}

// Of a name that is like one of the catalog: its sizes, and the weights that the name tells.
ModelSpec load_alike(const CheckpointName& found, const std::string& name) {
  ModelSpec model = load_entry(*found.entry);
  model.hf_id = name;
  if (found.weights != nullptr) override_weight_format(model, *found.weights);
  model.requested_format.clear();  // the checkpoint has it
  model.notes.push_back(
      fmt::format("{} is taken for {} by its name{}; its config.json would be sure", name, found.entry->name,
                  found.weights != nullptr ? fmt::format(", all weights in {}", found.weights->name) : std::string()));
  return model;
}

[[noreturn]] void refuse(const std::string& name) {
  std::vector<std::string> known;
  for (const CatalogEntry& entry : model_catalog()) known.push_back(entry.name);
  const bool looks_like_file = name.size() > 5 && name.substr(name.size() - 5) == ".json";
  if (looks_like_file)
    throw InputError(in_quotes(name), "no such file", "a config.json, its directory or a model from the catalog");
  throw InputError(in_quotes(name), "no such model", nearest_hint(name.substr(name.find_last_of('/') + 1), known) + ", or the path of a config.json");
}

}  // namespace

const CatalogEntry* find_entry(std::string_view name) {
  const auto& entries = model_catalog();
  const auto found = std::find_if(entries.begin(), entries.end(), [name](const CatalogEntry& entry) { return is_called(entry, name); });
  return found == entries.end() ? nullptr : &*found;
}

ModelSpec load_model(const std::string& name) {
  if (const CatalogEntry* entry = find_entry(name)) return load_entry(*entry);
  std::error_code error;
  if (!name.empty() && fs::is_directory(name, error)) return load_file(fs::path(name) / "config.json", name);
  if (!name.empty() && fs::exists(name, error)) return load_file(name, name);
  if (const auto found = find_checkpoint(name)) return load_alike(*found, name);
  refuse(name);
}

}  // namespace shardplan
