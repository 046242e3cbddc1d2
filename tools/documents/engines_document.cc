#include "tools/documents/engines_document.h"

#include <nlohmann/json.hpp>

#include "planner/rules.h"
#include "tools/documents/document.h"

namespace shardplan {
namespace {

Document rules_document(const Engine& engine) {
  Document document = Document::array();
  for (const EngineRule& rule : engine.rules()) {
    document.push_back({{"rule", rule.id}, {"from_version", rule.versions.from}, {"until_version", rule.versions.until},
                        {"severity", rule.severity == Severity::kError ? "error" : "warning"}, {"message", rule.message}});
  }
  return document;
}

}  // namespace

std::string engines_document(const std::vector<Engine>& engines) {
  Document document = {{"schema", "shardplan.engines/1"}};
  document["engines"] = Document::array();
  for (const Engine& engine : engines) {
    document["engines"].push_back({{"name", engine.name}, {"version", engine.default_version}, {"help", engine.help},
                                   {"rules", rules_document(engine)}});
  }
  document["run"] = run_document();
  return text_of(document);
}

}  // namespace shardplan
