// A JSON document: keys keep their order, numbers are finite, text is UTF-8.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace shardplan {

using Document = nlohmann::ordered_json;

// Indented by two, with a newline at the end.
[[nodiscard]] std::string text_of(const Document& document);

// {"program": "shardplan", "version": ...}: what wrote the document. Comparisons of documents leave it out.
[[nodiscard]] Document run_document();

}  // namespace shardplan
