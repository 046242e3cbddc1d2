#include "tools/commands/models.h"

#include <string>
#include <vector>

#include "models/catalog.h"
#include "tools/cli/output.h"
#include "tools/documents/models_document.h"
#include "tools/tables/models_table.h"

namespace shardplan {
namespace {

std::vector<ModelSpec> whole_catalog() {
  std::vector<ModelSpec> models;
  for (const CatalogEntry& entry : model_catalog()) models.push_back(load_model(entry.name));
  return models;
}

}  // namespace

void run_models(const Words& words) {
  std::string name;
  Output output;
  const CommandLine line{"shardplan models",
                         "Lists the models that are built in, or shows one: a catalog name, a Hugging Face id, a config.json\n"
                         "or a directory holding one.",
                         "shardplan models qwen3-235b-a22b",
                         {output_flags(output)},
                         {{"NAME", "the model to show; all when left out", false, [&name](const std::string& text) { name = text; }}}};
  if (!parse_command_line(line, words)) return;
  check_output(output);
  const bool one = !name.empty();
  const std::vector<ModelSpec> models = one ? std::vector<ModelSpec>{load_model(name)} : whole_catalog();
  deliver(output, [&] { return one ? model_table(models.front()) : models_table(models); },
          [&] { return models_document(models); });
}

}  // namespace shardplan
