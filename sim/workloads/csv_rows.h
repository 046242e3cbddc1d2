// Rows of a comma-separated file with a header, for traces: no quotes, numbers only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workloads/line_reader.h"

namespace shardplan {

class CsvRows {
 public:
  // Reads the header. InputError when the file is empty.
  explicit CsvRows(std::string path);

  // Place of a column, or InputError naming those that are there.
  [[nodiscard]] std::size_t column(std::string_view name) const;
  // Place of a column, or -1.
  [[nodiscard]] std::int64_t column_if(std::string_view name) const;
  [[nodiscard]] bool next();   // InputError when a row has more or fewer fields than the header
  [[nodiscard]] std::string_view text(std::size_t column) const { return fields_[column]; }
  // InputError with line and column when the field is no such number.
  [[nodiscard]] std::int64_t integer(std::size_t column, std::int64_t min, std::int64_t max) const;
  [[nodiscard]] double number(std::size_t column, double min, double max) const;
  [[nodiscard]] const LineReader& reader() const { return reader_; }

 private:
  void split();

  LineReader reader_;
  std::vector<std::string> header_;
  std::vector<std::string_view> fields_;
};

}  // namespace shardplan
