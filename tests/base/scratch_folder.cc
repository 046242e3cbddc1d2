#include "tests/base/scratch_folder.h"

#include <cstdlib>
#include <iterator>
#include <stdexcept>

namespace shardplan {

ScratchFolder::ScratchFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "shardplan_test_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no scratch folder: " + pattern);
  folder_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

int ScratchFolder::entries() const {
  const std::filesystem::directory_iterator begin(folder_);
  return static_cast<int>(std::distance(begin, std::filesystem::directory_iterator()));
}

}  // namespace shardplan
