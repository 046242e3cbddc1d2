// A file that is written as its content comes, and appears under its name when it is complete or not at all.
#pragma once

#include <filesystem>
#include <fstream>
#include <iosfwd>
#include <string>

namespace shardplan {

class StreamedFile {
 public:
  // InputError when `path` cannot be written. A device or a pipe (/dev/stdout) is written straight.
  explicit StreamedFile(std::string path);
  ~StreamedFile();   // what was not finished is removed
  StreamedFile(const StreamedFile&) = delete;
  StreamedFile& operator=(const StreamedFile&) = delete;

  [[nodiscard]] std::ostream& stream() { return stream_; }
  // InputError when something could not be written.
  void finish();

 private:
  std::string path_;
  std::filesystem::path target_;
  std::filesystem::path scratch_;   // empty: written straight
  std::ofstream stream_;
};

}  // namespace shardplan
