#include "tools/documents/document.h"

#include <nlohmann/json.hpp>

#include "tools/cli/program.h"

namespace shardplan {

std::string text_of(const Document& document) {
  return document.dump(2, ' ', false, Document::error_handler_t::replace) + "\n";
}

Document run_document() { return {{"program", "shardplan"}, {"version", program_version()}}; }

}  // namespace shardplan
