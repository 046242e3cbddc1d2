#include "tests/models/shared_data.h"

#include <cstdlib>
#include <filesystem>

#include "tests/catch.h"

namespace shardplan {

std::optional<std::string> shared_path(const std::string& name) {
  const char* root = std::getenv("SHARDPLAN_SHARED");
  std::error_code error;
  const std::filesystem::path path = std::filesystem::path(root == nullptr ? "" : root) / name;
  if (root != nullptr && std::filesystem::exists(path, error)) return path.string();
  WARN("skipped: no " << name << " in SHARDPLAN_SHARED");
  return std::nullopt;
}

}  // namespace shardplan
