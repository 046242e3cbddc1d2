#include "calibrate/doctor/topology.h"

#include <algorithm>
#include <sstream>

#include "base/errors.h"

namespace shardplan {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// "GPU0", not the "GPU" of a heading "GPU NUMA ID".
bool is_device(const std::string& word) {
  const bool numbered = word.size() > 3 && word.find_first_not_of("0123456789", 3) == std::string::npos;
  return (numbered && (word.starts_with("GPU") || word.starts_with("NIC"))) || word.starts_with("mlx");
}

// Terminals underline the heading.
std::string without_escapes(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      plain += text[i];
      continue;
    }
    while (i < text.size() && text[i] != 'm') ++i;
  }
  return plain;
}

}  // namespace

std::string Topology::link(const std::string& a, const std::string& b) const {
  const auto it = links.find({a, b});
  return it == links.end() ? "" : it->second;
}

Topology read_topology(std::string_view text, const std::string& where) {
  Topology topology;
  std::vector<std::string> columns;
  std::istringstream lines(without_escapes(text));
  for (std::string line; std::getline(lines, line);) {
    const auto words = words_of(line);
    if (words.empty()) continue;
    if (columns.empty() && words.size() > 1 && is_device(words[0]) && is_device(words[1])) {
      std::copy_if(words.begin(), words.end(), std::back_inserter(columns), is_device);
      continue;
    }
    if (columns.empty() || !is_device(words[0]) || words.size() <= columns.size()) continue;
    (words[0].starts_with("GPU") ? topology.gpus : topology.nics).push_back(words[0]);
    for (std::size_t i = 0; i < columns.size(); ++i) topology.links[{words[0], columns[i]}] = words[i + 1];
    // After the matrix: CPU affinity, NUMA affinity, sometimes a GPU's own NUMA id.
    if (words[0].starts_with("GPU") && words.size() > columns.size() + 2) topology.numa[words[0]] = words[columns.size() + 2];
  }
  if (topology.gpus.empty()) throw InputError(where, "holds no row of a GPU", "what nvidia-smi topo -m prints");
  return topology;
}

}  // namespace shardplan
