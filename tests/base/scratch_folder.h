// A folder of a test's own, removed with all that is in it when the test ends.
#pragma once

#include <filesystem>
#include <string>

namespace shardplan {

class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] int entries() const;  // files and folders directly in it

 private:
  std::filesystem::path folder_;
};

}  // namespace shardplan
