#include "tools/documents/page.h"

#include <fmt/format.h>

namespace shardplan {
namespace {

constexpr const char* kStyle =
    "body{font:14px system-ui,sans-serif;margin:2em;max-width:1200px}"
    "table{border-collapse:collapse;margin:1em 0}pre{font-size:12px;overflow-x:auto}"
    "td,th{padding:2px 10px;text-align:right;border-bottom:1px solid "
    "#ddd;font-weight:normal}th:first-child{text-align:left}"
    "tr:first-child th{font-weight:bold}.plots{display:flex;flex-wrap:wrap}"
    ".g{stroke:#eee;fill:none}.d{stroke:#333}.e{stroke:#aaa;stroke-dasharray:4}"
    ".a{font-size:11px;fill:#555}.t{font-size:14px;font-weight:bold}";

}  // namespace

std::string page(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{}</title><style>{}</style>\n{}</html>\n",
      html_text(title), kStyle, body);
}

std::string html_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

}  // namespace shardplan
