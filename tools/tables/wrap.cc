#include "tools/tables/wrap.h"

namespace shardplan {

std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::size_t start = 0;
  while (text.size() - start > width) {
    std::size_t blank = text.rfind(' ', start + width);
    if (blank == std::string::npos || blank <= start) blank = text.find(' ', start + width);
    if (blank == std::string::npos) break;
    lines.push_back(text.substr(start, blank - start));
    start = blank + 1;
  }
  lines.push_back(text.substr(start));
  return lines;
}

}  // namespace shardplan
