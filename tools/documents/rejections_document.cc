#include "tools/documents/rejections_document.h"

#include <nlohmann/json.hpp>

#include "tools/documents/parallel_document.h"

namespace shardplan {
namespace {

Document one_rejection(const Rejection& row) {
  Document document = {{"family", row.family}, {"parallel", parallel_document(row.config)}, {"rule", row.rule},
                       {"message", row.message}, {"configurations", row.count}};
  if (!row.suggestion.empty()) document["suggestion"] = row.suggestion;
  return document;
}

}  // namespace

Document rejections_document(const std::vector<Rejection>& rejected) {
  Document document = Document::array();
  for (const Rejection& row : rejected) document.push_back(one_rejection(row));
  return document;
}

}  // namespace shardplan
