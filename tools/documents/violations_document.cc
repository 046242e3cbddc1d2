#include "tools/documents/violations_document.h"

#include <nlohmann/json.hpp>

namespace shardplan {

Document violations_document(const std::vector<Violation>& violations) {
  Document document = Document::array();
  for (const Violation& violation : violations) {
    document.push_back({{"rule", violation.rule}, {"message", violation.message}});
  }
  return document;
}

}  // namespace shardplan
