// A table of comma-separated values, strictly: a header of distinct names, then rows of as many cells.
//
// Cells may be quoted; lines may end in CRLF; a byte-order mark and empty lines at the end are ignored. Errors name file, line and column,
// and a bad table is refused whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardplan {

struct CsvRow {
  std::int64_t line = 0;  // of the file, from 1
  std::vector<std::string> cells;
};

// The cells of the first line. InputError where a quotation does not end.
[[nodiscard]] std::vector<std::string> csv_header(std::string_view text, const std::string& file);

class CsvTable {
 public:
  // InputError on a malformed text; `file` names it in errors.
  CsvTable(std::string file, std::string_view text);

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  [[nodiscard]] const std::vector<CsvRow>& rows() const { return rows_; }
  [[nodiscard]] bool has(std::string_view column) const { return find(column).has_value(); }
  [[nodiscard]] std::optional<std::size_t> find(std::string_view column) const;
  // InputError naming the nearest column.
  [[nodiscard]] std::size_t require(std::string_view column) const;

  // Cells by column name; "" where the table has no such column.
  [[nodiscard]] std::string text(const CsvRow& row, std::string_view column) const;
  // InputError unless the cell is a number in [least, most].
  [[nodiscard]] double number(const CsvRow& row, std::string_view column, double least, double most) const;
  // nullopt where the cell is empty or the column missing.
  [[nodiscard]] std::optional<double> number_if(const CsvRow& row, std::string_view column, double least,
                                                double most) const;
  // "FILE: line 12, column tpot_ms"
  [[nodiscard]] std::string where(const CsvRow& row, std::string_view column) const;

 private:
  std::string file_;
  std::vector<std::string> columns_;
  std::vector<CsvRow> rows_;
};

}  // namespace shardplan
