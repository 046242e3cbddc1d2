// A text file line by line in constant memory, with errors that name line and column.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

namespace shardplan {

class LineReader {
 public:
  // InputError when the file cannot be read.
  explicit LineReader(std::string path);

  // The next line that is not empty, without its end; false at the end. InputError on a line beyond 16 MiB or a NUL.
  [[nodiscard]] bool next();
  [[nodiscard]] std::string_view line() const { return line_; }
  // "file:12", and "file:12:7" for a place in the line.
  [[nodiscard]] std::string where() const;
  [[nodiscard]] std::string where(std::string_view part) const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[nodiscard]] bool read_line();

  std::string path_;
  std::ifstream file_;
  std::string line_;
  std::int64_t number_ = 0;
};

}  // namespace shardplan
