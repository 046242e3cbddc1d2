// An HTML page with tables and plots as inline SVG: self-contained, opens offline.
#pragma once

#include <string>

namespace shardplan {

// `body` between the head and the end of a page.
[[nodiscard]] std::string page(const std::string& title, const std::string& body);
// With <, >, & and quotes escaped.
[[nodiscard]] std::string html_text(const std::string& text);

}  // namespace shardplan
