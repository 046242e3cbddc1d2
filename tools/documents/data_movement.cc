#include "tools/documents/data_movement.h"

#include <nlohmann/json.hpp>

namespace shardplan {

Document movement_document(const std::vector<DataMovement>& rows) {
  Document document = Document::array();
  for (const DataMovement& row : rows) {
    Document one = {{"what", row.what}, {"from", row.from}, {"to", row.to}, {"per", row.per}, {"bytes", row.bytes},
                    {"link", row.link}, {"seconds", row.time.value()}, {"critical", row.critical}};
    if (!row.note.empty()) one["note"] = row.note;
    document.push_back(std::move(one));
  }
  return document;
}

}  // namespace shardplan
