#include "tools/cli/output.h"

#include <filesystem>
#include <system_error>

#include "base/errors.h"
#include "base/file.h"
#include "tools/cli/flag_builders.h"
#include "tools/cli/standard_output.h"
#include "tools/documents/page.h"

namespace shardplan {

FlagGroup output_flags(Output& output) {
  return {"Output",
          {choice_flag<bool>("--format", "a table for people (default) or a JSON document", output.json,
                             {{"table", false}, {"json", true}}),
           text_flag("--output", "FILE", "write there instead of standard output, whole or not at all; a page where it ends in .html", output.file)}};
}

bool is_page(const Output& output) { return output.file.ends_with(".html"); }

void check_output(const Output& output) {
  if (output.file.empty()) return;
  if (output.json && is_page(output)) throw InputError(output.file, "is a page, and --format json is none", "a name in .json");
  std::error_code error;
  const std::filesystem::path path(output.file);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  if (std::filesystem::is_directory(path, error)) throw InputError(output.file, "is a directory", "a file name");
  if (!std::filesystem::is_directory(folder, error)) {
    throw InputError(output.file, "its folder does not exist", "an existing folder");
  }
}

namespace {

std::string page_of(const std::string& text) {
  return text.starts_with("<!doctype") ? text : page("shardplan", "<pre>" + html_text(text) + "</pre>\n");
}

}  // namespace

void deliver(const Output& output, const std::function<std::string()>& table, const std::function<std::string()>& json) {
  const std::string text = output.json ? json() : is_page(output) ? page_of(table()) : table();
  if (output.file.empty()) write_standard_output(text);
  else write_file_atomically(output.file, text);
}

}  // namespace shardplan
