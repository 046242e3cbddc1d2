#include "tools/documents/launch_document.h"

#include <nlohmann/json.hpp>

namespace shardplan {

Document launch_document(const Launch& launch) {
  Document document = {{"engine", launch.engine}, {"engine_version", launch.engine_version}};
  if (!launch.refused.empty()) {
    document["refused"] = launch.refused;
    return document;
  }
  document["command"] = launch.command;
  document["files"] = Document::array();
  for (const LaunchFile& file : launch.files) document["files"].push_back(file.name);
  document["notes"] = launch.notes;
  return document;
}

}  // namespace shardplan
